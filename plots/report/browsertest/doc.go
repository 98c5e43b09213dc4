// Package browsertest opens pages in a real browser, Debian's chromium, driven by chromedp. Its own tests are those of the pages of package
// report; the page that serves a run under way is tried by the same means where it is made, in cmd/bench.
//
// All of it has the build tag browser, so that nobody compiles the protocol of a browser to test a log: `make check` runs them. They are
// skipped with a line that says what to install where no chromium is found. Without an own go.mod, because one that imports package report
// would repeat every requirement of ours and go stale with each change.
//
//	go test -tags browser ./plots/report/browsertest -shots DIR    keeps screenshots, to look at
package browsertest
