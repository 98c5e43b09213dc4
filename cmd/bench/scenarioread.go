package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"rejoin/server"
)

// scenarioBytesMax and scenarioTokensMax bound what is read before anything of it is believed: the parser calls itself for each level of
// nesting, and an alias stands for as much as its anchor.
const (
	scenarioBytesMax   = 256 << 10
	scenarioNestingMax = 20
)

// loadScenario finds a built-in scenario by its name, or reads a YAML file.
func loadScenario(ref string) (Scenario, error) {
	if text, err := scenarioFiles.ReadFile(path.Join("scenarios", ref+".yaml")); err == nil {
		return parseScenario(ref, text)
	}
	file, err := os.Open(ref)
	if errors.Is(err, fs.ErrNotExist) {
		return Scenario{}, fmt.Errorf("there is no scenario %q: built in are %s; otherwise name a YAML file", ref, strings.Join(builtinScenarios(), ", "))
	}
	if err != nil {
		return Scenario{}, fmt.Errorf("read scenario: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return Scenario{}, fmt.Errorf("read scenario: %s is a folder; a scenario is a YAML file", ref)
	}
	text, err := io.ReadAll(io.LimitReader(file, scenarioBytesMax+1))
	if err != nil {
		return Scenario{}, fmt.Errorf("read scenario %s: %w", ref, err)
	}
	return parseScenario(ref, text)
}

// parseScenario reads a scenario, fills in defaults and validates. file is what errors call it: they name file, line, column and field, and
// show the place.
func parseScenario(file string, text []byte) (Scenario, error) {
	s := scenarioDefaults()
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors begin every UTF-8 file by it, and YAML allows it
	if err := readScenario(text, &s); err != nil {
		return Scenario{}, placed(file, text, err)
	}
	if err := s.validate(); err != nil {
		return Scenario{}, placed(file, text, err)
	}
	return s, nil
}

func readScenario(text []byte, s *Scenario) error {
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return errors.New("the file is empty")
	case len(text) > scenarioBytesMax:
		return fmt.Errorf("the file is larger than %d KiB, so it is hardly a scenario", scenarioBytesMax>>10)
	case bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")):
		return errors.New("the file is UTF-16; save it as UTF-8")
	case !utf8.Valid(text):
		return errors.New("the file holds bytes that are no UTF-8; save it as UTF-8")
	}
	if deepest := server.Nesting(text); deepest > scenarioNestingMax {
		return fmt.Errorf("the file is nested %d levels deep; a scenario has fewer than %d", deepest, scenarioNestingMax)
	}
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return err
	}
	if len(tree.Docs) != 1 || tree.Docs[0].Body == nil || tree.Docs[0].Body.Type() != ast.MappingType {
		return errors.New("the file is not one mapping of fields such as name: …")
	}
	for _, t := range tokensOf(tree) {
		if t.Type == token.AnchorType || t.Type == token.AliasType {
			return &fieldError{at: t, err: errors.New("anchors and aliases have no place in a scenario; write the value out")}
		}
		if t.Type == token.ImplicitNullType {
			return &fieldError{at: t, err: errors.New("the field has no value; give it one or leave it out for the default")}
		}
	}
	if err := yaml.UnmarshalWithOptions(text, s, yaml.Strict()); err != nil {
		return err
	}
	if err := refuseFractions(tree.Docs[0].Body); err != nil {
		return err
	}
	return s.settleLoad(func(field string) bool {
		at, _ := fieldAt(text, field)
		return at != nil
	})
}

func tokensOf(tree *ast.File) []*token.Token {
	var all []*token.Token
	ast.Walk(visit(func(n ast.Node) { all = append(all, n.GetToken()) }), tree.Docs[0].Body)
	return all
}

type visit func(ast.Node)

func (v visit) Visit(n ast.Node) ast.Visitor {
	v(n)
	return v
}

// fieldError is a value that cannot be.
type fieldError struct {
	field string       // its path, such as faults[1].kill
	at    *token.Token // where it stands, if that is known already
	err   error
}

func (e *fieldError) Error() string {
	if e.field == "" {
		return e.err.Error()
	}
	return e.field + ": " + e.err.Error()
}

func (e *fieldError) Unwrap() error { return e.err }

func refuseField(field, format string, args ...any) error {
	return &fieldError{field: field, err: fmt.Errorf(format, args...)}
}

// within puts an error of a part under the part's field.
func within(field string, err error) error {
	if err == nil {
		return nil
	}
	inner, ok := err.(*fieldError)
	if !ok {
		return &fieldError{field: field, err: err}
	}
	return &fieldError{field: strings.TrimSuffix(field+"."+inner.field, "."), at: inner.at, err: inner.err}
}

// placed names the file and, where the text has it, line and column of what an error is about, and shows the place.
func placed(file string, text []byte, err error) error {
	var syntax yaml.Error
	var field *fieldError
	var at *token.Token
	said := err.Error()
	switch {
	case errors.As(err, &syntax):
		at, said = syntax.GetToken(), server.YAMLWords(syntax)
	case errors.As(err, &field):
		at = field.at
		if at == nil {
			at, _ = fieldAt(text, field.field)
		}
	}
	said = clipped(said, scenarioSaidMax)
	if at == nil || at.Position == nil {
		return fmt.Errorf("%s: %s", file, said)
	}
	source := yaml.FormatErrorWithToken("", at, false, true)
	if _, rest, ok := strings.Cut(source, "\n"); ok { // its first line repeats the place
		source = rest
	}
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(source, "\n"), "\n") {
		lines = append(lines, clipped(line, scenarioSaidMax))
	}
	return fmt.Errorf("%s:%d:%d: %s\n%s", file, at.Position.Line, at.Position.Column, said, strings.Join(lines, "\n"))
}

// scenarioSaidMax is how much of a line of the file, and of a sentence that may quote it, is shown.
const scenarioSaidMax = 300

// clipped cuts a text after so many characters, and shows it.
func clipped(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + " …"
	}
	return text
}

// fieldAt finds where a field stands, or its nearest parent that the text has; exact says which.
func fieldAt(text []byte, field string) (at *token.Token, exact bool) {
	for exact = true; field != ""; exact = false {
		if where, err := yaml.PathString("$." + field); err == nil {
			if node, err := where.ReadNode(bytes.NewReader(text)); err == nil && node != nil {
				return node.GetToken(), exact
			}
		}
		cut := max(strings.LastIndexByte(field, '.'), strings.LastIndexByte(field, '['))
		field = field[:max(cut, 0)]
	}
	return nil, false
}
