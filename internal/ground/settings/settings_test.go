package settings_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/einmal/einmal/internal/ground/settings"
)

// sample has a member of every kind.
type sample struct {
	Name  string           `yaml:"name" doc:"what it is called"`
	Mode  string           `yaml:"mode,omitempty" one:"fast slow"`
	Token string           `yaml:"token,omitempty" secret:"value"`
	URL   string           `yaml:"url,omitempty" secret:"url"`
	Tries int              `yaml:"tries"`
	Even  even             `yaml:"even"`
	On    bool             `yaml:"on"`
	Words []string         `yaml:"words,omitempty"`
	Pairs []pair           `yaml:"pairs,omitempty"`
	Lines map[string]line  `yaml:"lines"`
	Codes map[string]codes `yaml:"codes,omitempty"`
	Safe  safe             `yaml:"safe,omitempty"`
}

// safe is one word, or has members.
type safe struct {
	On bool   `yaml:"-"`
	CA string `yaml:"ca,omitempty"`
}

func (s *safe) UnmarshalText(b []byte) error {
	s.On = string(b) == "true"
	return nil
}

func (s safe) MarshalText() ([]byte, error) {
	return []byte(map[bool]string{true: "true", false: "false"}[s.On]), nil
}

type pair struct {
	From string `yaml:"from"`
}

type line struct {
	Window int  `yaml:"window"`
	Deep   deep `yaml:"deep"`
}

type deep struct {
	Zone string `yaml:"zone,omitempty"`
}

type codes map[string]string

// even is a number that reads itself.
type even struct{ n int }

func (e *even) UnmarshalText(b []byte) error {
	if string(b) != "two" {
		return errors.New("write two")
	}
	e.n = 2
	return nil
}

func (e even) MarshalText() ([]byte, error) { return []byte(map[int]string{2: "two"}[e.n]), nil }

const file = `name: &n shop
even: two
pairs: [{from: a}]
lines:
  carrier-a: {window: 3}
  b:
    deep:
      zone: UTC
codes:
  x: {"069": lost}
`

func read(t *testing.T, text string, environ ...string) (*sample, *settings.Origins, error) {
	t.Helper()
	s, o := &sample{}, settings.NewOrigins()
	if err := yaml.UnmarshalWithOptions([]byte(text), s, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	o.File("f.yaml", settings.LinesOf([]byte(text)), settings.Members(s, "X_"))
	err := o.Environment(settings.Members(s, "X_"), "X_", environ, func(name, _ string) bool { return name == "X_OTHER" })
	return s, o, err
}

func origins(s *sample, o *settings.Origins) map[string]string {
	all := map[string]string{}
	for _, m := range settings.Members(s, "X_") {
		all[m.Name()] = o.Of(m).String()
	}
	return all
}

// Every kind of member is set by its variable, in maps of structs too, and says where its value comes from.
//
// covers: X7
func TestVariablesGoBeforeTheFile(t *testing.T) {
	s, o, err := read(t, file, "X_NAME=other", "X_MODE=slow", "X_TRIES=7", "X_ON=true", "X_WORDS=a, b", "X_LINES_CARRIER_A_WINDOW=20",
		"X_LINES_B_DEEP_ZONE=Europe/Berlin", "X_CODES_X_069=absent", "X_OTHER=1", "X_URL=", "Y_NAME=no")
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "other" || s.Mode != "slow" || s.Tries != 7 || !s.On || !slices.Equal(s.Words, []string{"a", "b"}) || s.Lines["carrier-a"].Window != 20 ||
		s.Lines["b"].Deep.Zone != "Europe/Berlin" || s.Codes["x"]["069"] != "absent" || s.URL != "" || s.Even.n != 2 {
		t.Errorf("%+v", s)
	}
	got := origins(s, o)
	for member, want := range map[string]string{
		"name": "env X_NAME", "even": "f.yaml:2", "pairs": "f.yaml:3", "url": "default", "lines.carrier-a.window": "env X_LINES_CARRIER_A_WINDOW",
		"lines.b.deep.zone": "env X_LINES_B_DEEP_ZONE", "lines.b.window": "default",
	} {
		if got[member] != want {
			t.Errorf("%s comes from %q, want %q", member, got[member], want)
		}
	}
}

// What a tag does not permit is found, wherever it came from.
func TestCheck(t *testing.T) {
	s, _, err := read(t, "mode: fast\n")
	if err != nil || settings.Check(s) != nil {
		t.Fatal(err, settings.Check(s))
	}
	if s.Mode = ""; settings.Check(s) != nil {
		t.Error("a member that may be left out was missed")
	}
	if s.Mode = "quick"; settings.Check(s) == nil || settings.Check(s).Error() != "mode: write fast or slow" {
		t.Error(settings.Check(s))
	}
}

func TestLinesOfAFile(t *testing.T) {
	s, o, err := read(t, "lines:\n  a: &a\n    window: 3\n    deep: {zone: UTC}\n  b: *a\n  c:\n    <<: *a\n")
	if err != nil {
		t.Fatal(err)
	}
	got := origins(s, o)
	for _, member := range []string{"lines.a.window", "lines.b.window", "lines.c.window"} {
		if got[member] != "f.yaml:3" {
			t.Errorf("%s comes from %q: %v", member, got[member], got)
		}
	}
}

// What is wrong is named by its variable, with what would be right; everything at once.
//
// covers: X7
func TestWrongVariables(t *testing.T) {
	for variable, want := range map[string]string{
		"X_TRIES=many":       "X_TRIES: not a number",
		"X_ON=yes":           "X_ON: write true or false",
		"X_MODE=quick":       "X_MODE: write fast or slow",
		"X_EVEN=3":           "X_EVEN: write two",
		"X_NMAE=a":           "the variable X_NMAE sets nothing: the nearest that does is X_NAME",
		"X_LINES_D_WINDOW=1": "the nearest that does is X_LINES_B_WINDOW",
		"X_PAIRS=[]":         "the variable X_PAIRS sets nothing",
		"X_OTHER=1":          "",
	} {
		_, _, err := read(t, file, variable)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", variable, err, want)
		}
	}
	_, _, err := read(t, file, "X_TRIES=many", "X_NMAE=a")
	if err == nil || !strings.Contains(err.Error(), "X_TRIES") || !strings.Contains(err.Error(), "X_NMAE") {
		t.Errorf("not all is said: %v", err)
	}
	_, _, err = read(t, "lines: {a-b: {window: 1}, a_b: {window: 1}}", "X_LINES_A_B_WINDOW=2")
	if err == nil || !strings.Contains(err.Error(), "lines.a-b.window or lines.a_b.window") {
		t.Errorf("two members have one variable: %v", err)
	}
}

// The file that is shown is the configuration again, and has no secret.
//
// covers: X7
func TestShownIsAFile(t *testing.T) {
	s, o, err := read(t, file, "X_WORDS=a,b", "X_NAME=069", "X_MODE=fast")
	if err != nil {
		t.Fatal(err)
	}
	shown := settings.YAML(o.Show(settings.Members(s, "X_")))
	again, _, err := read(t, shown)
	if err != nil || settings.YAML(settings.NewOrigins().Show(settings.Members(again, "X_"))) != settings.YAML(settings.NewOrigins().Show(settings.Members(s, "X_"))) {
		t.Errorf("%v\n%s", err, shown)
	}
	if again.Name != "069" || !maps.Equal(again.Codes["x"], s.Codes["x"]) || !strings.Contains(shown, "    \"069\": lost  # f.yaml:10\n") {
		t.Errorf("%s", shown)
	}
	s.Token, s.URL = "tell-nobody", "postgres://u:tell-nobody@h/d?sslpassword=tell-nobody&x=1"
	if shown := settings.YAML(o.Show(settings.Members(s, "X_"))); strings.Contains(shown, "tell-nobody") || !strings.Contains(shown, "postgres://u:masked@h/d") {
		t.Errorf("%s", shown)
	}
	if got := settings.Mask("value", "file:/run/secret"); got != "file:/run/secret" {
		t.Errorf("a reference is shown as %q", got)
	}
	if got := settings.Mask("url", "postgres://u:p%zz@h"); got != "masked" {
		t.Errorf("an address that cannot be read is shown as %q", got)
	}
}

// What may be one word has a variable of its own beside those of its members, and a file has either.
func TestOneWordOrMembers(t *testing.T) {
	s, o, err := read(t, file, "X_SAFE=true")
	if err != nil || !s.Safe.On || !strings.Contains(settings.YAML(o.Show(settings.Members(s, "X_"))), "safe: true  # env X_SAFE\n") {
		t.Errorf("%+v %v", s, err)
	}
	s, o, err = read(t, file, "X_SAFE_CA=f", "X_SAFE=true")
	if shown := settings.YAML(o.Show(settings.Members(s, "X_"))); err != nil || s.Safe.CA != "f" || strings.Contains(shown, "safe: true") || !strings.Contains(shown, "safe:\n  ca: f  # env X_SAFE_CA\n") {
		t.Errorf("%v\n%s", err, shown)
	}
}

func TestBlame(t *testing.T) {
	s, o, err := read(t, file, "X_LINES_B_WINDOW=1")
	if err != nil {
		t.Fatal(err)
	}
	all := settings.Members(s, "X_")
	for text, want := range map[string]string{
		"lines.b.window: at least 2": "env X_LINES_B_WINDOW", "name: too long": "f.yaml:1", "nameless: no": "", "tries: too few": "", "lines.b: no window": "", "lines.b: window: at least 2": "env X_LINES_B_WINDOW", "lines.b: windows: two": "",
	} {
		from, ok := o.Blame(errors.New(text), all)
		if ok != (want != "") || ok && from.String() != want {
			t.Errorf("%s: %v %s, want %q", text, ok, from, want)
		}
	}
}
