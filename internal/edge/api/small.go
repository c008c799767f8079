package api

import (
	"bufio"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/edge/api/strictjson"
	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/ground/fault"
)

// decodeSmall reads the body of an operation with few members. Those in must have to be there.
func decodeSmall(contentType string, body []byte, known func(*decoder) members, must ...needed) error {
	return decodeUpTo(maxBody, contentType, body, known, must...)
}

// decodeUpTo is decodeSmall with another limit of the body, in bytes.
func decodeUpTo(most int, contentType string, body []byte, known func(*decoder) members, must ...needed) error {
	if !isJSON(contentType) {
		return errMediaType
	}
	if len(body) > most {
		return fault.New(fault.TooLarge, "the body is larger than %d bytes", most)
	}
	d := &decoder{}
	if v, ok := d.body(body); ok {
		d.members(v, "#", known(d))
		d.present(v, must)
	}
	return d.fault()
}

// needed is a member that has to be there, with what to write into it.
type needed struct{ name, right string }

func (d *decoder) present(v strictjson.Value, all []needed) {
	for _, m := range all {
		if !slices.ContainsFunc(v.Members, func(given strictjson.Member) bool { return given.Name == m.name }) {
			d.wrong("#/"+m.name, "missing: %s", m.right)
		}
	}
}

// required reads a text that must say something. White space at its ends says nothing and is dropped.
func (d *decoder) required(into *string, right string) memberReader {
	return func(v strictjson.Value, pointer string) {
		if !d.is(v, pointer, strictjson.String) {
			return
		}
		if *into = strings.TrimSpace(v.Text); *into == "" {
			d.wrong(pointer, "empty: %s", right)
		}
	}
}

// time reads a point in time.
func (d *decoder) time(into *clock.Micros) memberReader {
	return func(v strictjson.Value, pointer string) {
		if d.is(v, pointer, strictjson.String) {
			*into = d.moment(pointer, v.Text)
		}
	}
}

// orEmptyObject reads a request without a body as one whose body has no members: the answer then names those
// that are missing, where the framework would only say that a body is.
func orEmptyObject(ctx huma.Context, next func(huma.Context)) {
	r, _ := humago.Unwrap(ctx)
	begins := bufio.NewReader(r.Body)
	given := io.Reader(begins)
	if _, err := begins.Peek(1); errors.Is(err, io.EOF) {
		given = strings.NewReader("{}")
		r.Header.Set("Content-Type", "application/json")
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{given, r.Body}
	next(ctx)
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

var errMediaType = fault.New(fault.MediaType, "send the body as Content-Type: application/json, in UTF-8 and without a Content-Encoding")
