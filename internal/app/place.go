package app

import (
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
