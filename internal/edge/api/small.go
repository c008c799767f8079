package api

import (
	"encoding/hex"
	"slices"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/edge/api/strictjson"
	"github.com/einmal/einmal/internal/ground/fault"
)

// decodeSmall reads the body of an operation with few members. Those in must have to be there.
func decodeSmall(contentType string, body []byte, known func(*decoder) members, must ...string) error {
	if !isJSON(contentType) {
		return errMediaType
	}
	if len(body) > maxBody {
		return errTooLarge
	}
	d := &decoder{}
	if v, ok := d.document(body); ok {
		d.members(v, "#", known(d))
		d.present(v, must)
	}
	return d.fault()
}

func (d *decoder) present(v strictjson.Value, must []string) {
	for _, name := range must {
		if !slices.ContainsFunc(v.Members, func(m strictjson.Member) bool { return m.Name == name }) {
			d.wrong("#/"+name, "missing: this member is required")
		}
	}
}

// required reads a text that must say something.
func (d *decoder) required(into *string) memberReader {
	return func(v strictjson.Value, pointer string) {
		if !d.is(v, pointer, strictjson.String) {
			return
		}
		if *into = v.Text; v.Text == "" {
			d.wrong(pointer, "empty: write something")
		}
	}
}

// list reads an array of texts.
func (d *decoder) list(into *[]string) memberReader {
	return func(v strictjson.Value, pointer string) {
		if !d.is(v, pointer, strictjson.Array) {
			return
		}
		for _, e := range v.Elements {
			if d.is(e, pointer, strictjson.String) {
				*into = append(*into, e.Text)
			}
		}
	}
}

// key reads a key as answers show it.
func (d *decoder) key(parameter, value string) intent.Key {
	raw, err := hex.DecodeString(value)
	if err != nil || len(raw) != len(intent.Key{}) {
		d.wrong(parameter, "not a deduplication key: it has 32 hexadecimal digits, as messages and decisions show it")
		return intent.Key{}
	}
	return intent.Key(raw)
}

// parameterName repeats a parameter's name only if it is a plain word: anything may stand there.
func parameterName(name string) string {
	if plain := strictjson.Step("", name); plain != "/?" {
		return name
	}
	return "?"
}

var (
	errMediaType = fault.New(fault.MediaType, "send the body as Content-Type: application/json, in UTF-8 and without a Content-Encoding")
	errTooLarge  = fault.New(fault.TooLarge, "the body is larger than %d bytes", maxBody)
)
