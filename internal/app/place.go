package app

import (
	"regexp"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
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
func mistake(err error) string {
	return quoted.ReplaceAllString(yaml.FormatError(err, false, false), "$1")
}
