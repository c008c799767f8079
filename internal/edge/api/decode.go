package api

import (
	"fmt"
	"slices"
	"strings"

	"github.com/einmal/einmal/internal/domain/request"
	"github.com/einmal/einmal/internal/edge/api/strictjson"
	"github.com/einmal/einmal/internal/ground/fault"
)

// decoder takes a request's members apart and collects what is wrong with them.
type decoder struct{ fields []fault.Field }

func (d *decoder) wrong(pointer, format string, args ...any) {
	d.fields = append(d.fields, fault.Field{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
}

// fault returns what was wrong, nil if nothing.
func (d *decoder) fault() error {
	switch len(d.fields) {
	case 0:
		return nil
	case 1:
		return &fault.Fault{Code: fault.Invalid, Detail: "one field is wrong", Fields: d.fields}
	}
	return &fault.Fault{Code: fault.Invalid, Detail: fmt.Sprintf("%d fields are wrong", len(d.fields)), Fields: d.fields}
}

// body reads a body that has to be an object; false if it is none.
func (d *decoder) body(body []byte) (strictjson.Value, bool) {
	v, errs := strictjson.Parse(body)
	return v, d.document(v, errs)
}

// document reports what was wrong when the value was read; false if something was, or it is no object.
func (d *decoder) document(v strictjson.Value, errs []strictjson.Error) bool {
	for _, e := range errs {
		d.wrong(e.Pointer, "%s", e.Detail)
	}
	return len(errs) == 0 && d.is(v, "#", strictjson.Object)
}

// memberReader reads one member of a request and reports under the pointer what is wrong with it.
type memberReader func(v strictjson.Value, pointer string)

// members are the ones that an object may have. There are a dozen at most: a slice is faster than a map.
type members []member

type member struct {
	name string
	read memberReader
}

func (m members) reader(name string) memberReader {
	for i := range m {
		if m[i].name == name {
			return m[i].read
		}
	}
	return nil
}

func (m members) names() []string {
	names := make([]string, len(m))
	for i := range m {
		names[i] = m[i].name
	}
	return names
}

// members hands each member to its reader and names the ones that have none.
func (d *decoder) members(v strictjson.Value, pointer string, known members) {
	for _, m := range v.Members {
		here := strictjson.Step(pointer, m.Name)
		if read := known.reader(m.Name); read != nil {
			read(m.Value, here)
			continue
		}
		d.wrong(here, "%s", unknownMember(m.Name, known.names()))
	}
}

func (d *decoder) is(v strictjson.Value, pointer string, want strictjson.Kind) bool {
	if v.Kind != want {
		d.wrong(pointer, "expected %s, not %s", want, v.Kind)
	}
	return v.Kind == want
}

func (d *decoder) text(into *string) memberReader {
	return func(v strictjson.Value, pointer string) {
		if d.is(v, pointer, strictjson.String) {
			*into = v.Text
		}
	}
}

// version reads a version: a string, or a whole number, which stands for its decimal text.
func (d *decoder) version(into *string) memberReader {
	return func(v strictjson.Value, pointer string) {
		whole := v.Kind == strictjson.Number && request.WholeNumber(v.Text)
		if !whole && v.Kind != strictjson.String {
			d.wrong(pointer, "expected a string or a whole number, such as \"1\" or 1")
			return
		}
		*into = v.Text
	}
}

func (d *decoder) flag(into *bool) memberReader {
	return func(v strictjson.Value, pointer string) {
		if d.is(v, pointer, strictjson.Bool) {
			*into = v.Text == "true"
		}
	}
}

// texts reads an object of strings, whatever their names.
func (d *decoder) texts(into *map[string]string) memberReader {
	return func(v strictjson.Value, pointer string) {
		if !d.is(v, pointer, strictjson.Object) {
			return
		}
		got := make(map[string]string, len(v.Members))
		for _, m := range v.Members {
			if d.is(m.Value, strictjson.Step(pointer, m.Name), strictjson.String) {
				got[m.Name] = m.Value.Text
			}
		}
		*into = got
	}
}

// object reads an object by its members.
func (d *decoder) object(known members) memberReader {
	return func(v strictjson.Value, pointer string) {
		if d.is(v, pointer, strictjson.Object) {
			d.members(v, pointer, known)
		}
	}
}

// otherWords are names that other gateways have for our members.
var otherWords = map[string]string{
	"from": "sender", "source": "sender", "originator": "sender", "sender_id": "sender", "senderId": "sender",
	"message": "text", "body": "text", "content": "text", "msg": "text",
	"recipient": "to", "recipients": "to", "destination": "to", "number": "to", "phone": "to", "msisdn": "to",
	"validity": "valid_for", "validity_period": "valid_for", "ttl": "valid_for",
	"reference": "correlation_id", "client_ref": "correlation_id", "external_id": "correlation_id",
	"idempotency_key": "the header Idempotency-Key", "country": "region", "test": "dry_run", "meta": "metadata",
}

// unknownMember says which name was probably meant.
func unknownMember(name string, names []string) string {
	slices.Sort(names)
	if word, ok := otherWords[name]; ok && (slices.Contains(names, word) || strings.Contains(word, " ")) {
		return "unknown member: did you mean " + word + "?"
	}
	best, least := "", 3
	const longest = 64 // a longer name is no slip of the finger, and is not compared
	for _, n := range names {
		if dist := fault.Distance(strings.ToLower(name[:min(len(name), longest)]), n); dist < least && dist < len(n) {
			best, least = n, dist
		}
	}
	if best != "" {
		return "unknown member: did you mean " + best + "?"
	}
	return "unknown member: here are known " + strings.Join(names, ", ")
}
