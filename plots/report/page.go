package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"sync"

	"rejoin/plots"
	"rejoin/results"
)

var (
	//go:embed assets/*.tmpl
	templates embed.FS
	//go:embed assets/page.css
	styleText string
	//go:embed assets/page.js
	scriptText string
)

// pages are parsed at the first page: every start of bench, that of a node too, would wait for it.
var pages = sync.OnceValue(func() *template.Template { return template.Must(template.New("").ParseFS(templates, "assets/*.tmpl")) })

// frame is what every page has around its content.
type frame struct {
	Title  string
	Policy string
	Style  template.CSS
	Script template.JS
	// Data is what the script reads.
	Data pageData
}

func frameOf(title string, data pageData, flames []*flame) frame {
	return frame{Title: title, Policy: policyOf(scriptText, flames), Style: template.CSS(styleText), Script: template.JS(scriptText), Data: data}
}

// pageData is the block of JSON from which the script reads values.
type pageData struct {
	Stages []stageData `json:"stages"`
}

type stageData struct {
	ID     string       `json:"id"`
	Kind   stageKind    `json:"kind"`
	From   float64      `json:"from"`
	To     float64      `json:"to"`
	Series []seriesData `json:"series"`
}

type seriesData struct {
	ID    string       `json:"id"`
	Label string       `json:"label"`
	Unit  string       `json:"unit"`
	Data  [][3]float64 `json:"data"`
}

func dataOf(stages ...*stage) pageData {
	var out pageData
	for _, s := range stages {
		d := stageData{ID: s.ID, Kind: s.Kind, From: s.From, To: s.To, Series: []seriesData{}}
		for _, p := range s.Panels {
			for _, series := range p.Series {
				d.Series = append(d.Series, seriesData{series.ID, series.Label, series.Unit, series.Data})
			}
		}
		out.Stages = append(out.Stages, d)
	}
	return out
}

// runPage is report.html.
type runPage struct {
	Frame       frame
	Name        string
	Caption     string
	Head        headline
	Picture     stage
	Seconds     table
	Events      table
	Latency     latencySection
	Recovery    recoverySection
	Promises    promisesSection
	Proof       proofSection
	Cost        costSection
	Profiles    profilesSection
	Environment environmentSection
	Repeat      repeatSection
	Problems    []string
}

// Write writes report.html of a run from its folder. figures are what plots.FromRun read, so that page and figures show the same. It writes a
// page whatever is missing; the error says that it could not be written.
func Write(f results.Folder, figures plots.Figures) error {
	page := runPageOf(read(f, figures))
	return results.WriteFileAtomic(f.Report(), func(w io.Writer) error { return pages().ExecuteTemplate(w, "run.tmpl", page) })
}

func runPageOf(s *source) *runPage {
	p := &runPage{Name: s.folder.Name(), Caption: s.figures.Caption, Head: headlineOf(s), Picture: pictureOf(s), Latency: latencyOf(s), Recovery: recoveryOf(s),
		Promises: promisesOf(s), Proof: proofOf(s), Cost: costOf(s), Profiles: profilesOf(s), Environment: environmentOf(s), Repeat: repeatOf(s)}
	p.Seconds = secondsTable(&p.Picture)
	p.Events = eventsTable(s)
	p.Problems = s.problems
	var flames []*flame
	for _, e := range p.Profiles.Entries {
		if e.Flame != nil {
			flames = append(flames, e.Flame)
		}
	}
	p.Frame = frameOf(fmt.Sprintf("%s: %s", p.Head.Verdict, p.Name), dataOf(&p.Picture, &p.Latency.Curve), flames)
	return p
}
