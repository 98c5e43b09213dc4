# placeholder, grows below
