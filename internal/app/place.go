package app

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/einmal/einmal/internal/ground/settings"
)

// readText reads a scalar of the file. What is wrong with it is said with its line: the decoder drops the place of an
// error that is not its own.
func readText(n ast.Node, read func(text []byte) error) error {
	if err := read([]byte(scalar(n))); err != nil {
		return &yaml.SyntaxError{Message: err.Error(), Token: n.GetToken()}
	}
	return nil
}

// quoted is what the decoder quotes, with the words before it that say that it is the name of a member.
var quoted = regexp.MustCompile(`((?:unknown field|mapping key|duplicate key) "[A-Za-z0-9_.-]{1,64}")|(?s: ?".*")`)

// mistake says what is wrong with a YAML text, and at which line and column. The text around is not shown, since the
// mistake may stand beside a password, and neither is what the decoder quotes: a password that begins with a sign of
// YAML's is quoted as an alias or a header. The names of members stay.
func mistake(err error, known []string) string {
	text := quoted.ReplaceAllString(yaml.FormatError(err, false, false), "$1")
	return unknownName.ReplaceAllStringFunc(text, func(found string) string {
		name := unknownName.FindStringSubmatch(found)[1]
		if nearest := settings.Nearest(name, known); nearest != "" {
			return found + ": the nearest that there is, is " + nearest
		}
		return found
	})
}

var unknownName = regexp.MustCompile(`unknown field "([A-Za-z0-9_.-]+)"`)

// knownNames are the paths of all members of a configuration, with those of what its maps and lists hold.
func knownNames() []string {
	c := Default()
	c.Connections, c.Listen.Clients = map[string]Connection{"*": {}}, map[string]Client{"*": {}}
	return slices.Concat(namesIn("", &c), namesIn("routes.", &Route{}))
}

// namesIn are the paths of the members of a struct, and of the groups that they are in.
func namesIn(under string, of any) (all []string) {
	for _, m := range settings.Members(of, "") {
		for n := range m.Path {
			if path := under + strings.Join(m.Path[:n+1], "."); !slices.Contains(all, path) {
				all = append(all, path)
			}
		}
	}
	return all
}
