module rejoin

go 1.26
