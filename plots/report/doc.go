// Package report writes the pages that people read: report.html of a run, and comparison.html of two.
//
// A page is one file that opens from disk without a network: its policy (Content-Security-Policy in a meta element) lets it load nothing and
// run no script but its own, by hash. Without scripts everything is still there: verdict, tables, and the drawings, which are SVG and boxes
// placed by the style sheet. The script adds a cursor with values, zoom and switches for series; it draws nothing itself. That is why no chart
// library is used: those draw on a canvas, which has no dark print, no text to read out and nothing without scripts.
//
// What came from outside (names, reasons, details, paths) is escaped by html/template, in text, attributes and the data block alike.
// What was not measured says "no data", never 0; a quantile is shown only where its samples carry it. A part that cannot be read leaves its
// section empty and is named at the end of the page; the page is written all the same.
//
//	Write            report.html, from a run folder
//	WriteComparison  comparison.html, from a results.Comparison
package report
