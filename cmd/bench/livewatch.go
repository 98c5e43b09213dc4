package main

import (
	"fmt"
	"io"
)

// openWatchers makes what tells people and programs about the run.
func (r *session) openWatchers(env *environment) error {
	c := r.command
	var out io.Writer = env.out
	var closers []func()
	var watchers []watcher
	if c.JSON {
		lines := newEventsOutput(unplain(env.out))
		out = env.errs
		watchers, closers = append(watchers, lines), append(closers, func() {
			lines.close(env.ctx.Done(), func(text string) { fmt.Fprintln(env.errs, text) })
		})
	}
	r.closeSay = func() {
		for _, f := range closers {
			f()
		}
	}
	if c.HTTP != "" {
		token, err := secretOf(envToken)
		if err != nil {
			r.closeSay()
			return err
		}
		page, err := newLivePage(c.HTTP, token)
		if err != nil {
			r.closeSay()
			return err
		}
		watchers, closers = append(watchers, page.hub), append(closers, page.close)
		defer func() { r.say.line("watch: %s", page.where()) }()
	}
	r.say = newProgress(out, c.Quiet)
	r.say.watchers = watchers
	return nil
}

// where says how to open the page.
func (p *livePage) where() string {
	if p.token != "" {
		return fmt.Sprintf("http://%s/ asks for the token", p.address)
	}
	return fmt.Sprintf("http://%s/", p.address)
}
