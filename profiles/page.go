package profiles

import "bytes"

// pageStyle hides the menus that lead to pages of pprof's server, which a file does not have, and replaces pprof's red and green, which
// one man in twelve cannot tell apart.
const pageStyle = `<style>
.header #view, .header #sample, .header #refine, .header #config, .header #download, .header .title, #action-menu { display: none !important; }
.positive { background: #f0b45a; }
.negative { background: #8dbbe8; }
#note { padding: 4px 8px; background: #fff; color: #212121; }
</style>
`

const plainNote = "The width of a box is what a function and all that it calls cost. Click one to see its callers and callees; search by name above."

// diffNotes state the sign and what was divided by.
var diffNotes = map[Per]string{
	PerSecond:  "B against A, per second. " + howToReadADiff + " A was brought to the time of B first.",
	PerMessage: "B against A, per acknowledged message. " + howToReadADiff + " A was brought to the work of B first.",
}

const howToReadADiff = "A box is as wide as its cost in A and in B together; the orange part is what B costs more, the blue part what B costs less."

// asFile makes pprof's page one that stands by itself. The note is ours and holds nothing from outside.
func asFile(page []byte, note string) []byte {
	page = bytes.Replace(page, []byte("</head>"), []byte(pageStyle+"</head>"), 1)
	return bytes.Replace(page, []byte(`<div id="stack-holder">`), []byte(`<p id="note">`+note+"</p>\n  "+`<div id="stack-holder">`), 1)
}
