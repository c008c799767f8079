package sqlstore

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// template is one statement for both engines. Three macros are the difference between them:
//
//	{rows name type, …}   a batch of rows, as the relation r; types are int, text and bytes
//	{1}, {2}, …           scalar parameters, counted after the rows
//	{update}, {share}, {skip}   row locks: FOR UPDATE, FOR SHARE, FOR UPDATE SKIP LOCKED
//
// PostgreSQL gets the rows as one array a column (unnest). SQLite gets a VALUES list, padded with rows of NULL
// to a power of two, so that a few prepared statements serve every size.
type template struct {
	text    string
	columns []column
	before  string // of {rows …}
	after   string
	once    sync.Map // size (int) → SQL
}

type column struct{ name, kind string }

var postgresArrays = map[string]string{"int": "bigint[]", "text": "text[]", "bytes": "bytea[]"}

// define reads a template. It is called for package variables; a template that cannot be read is a defect of
// this package, found by every test.
func define(text string) *template {
	t := &template{text: text, before: text}
	start := strings.Index(text, "{rows ")
	if start < 0 {
		return t
	}
	length := strings.IndexByte(text[start:], '}')
	if length < 0 {
		panic("sqlstore: {rows without an end in: " + text)
	}
	for _, c := range strings.Split(text[start+len("{rows "):start+length], ",") {
		name, kind, ok := strings.Cut(strings.TrimSpace(c), " ")
		if !ok || postgresArrays[kind] == "" {
			panic("sqlstore: a column is a name and int, text or bytes: " + c)
		}
		t.columns = append(t.columns, column{name, kind})
	}
	t.before, t.after = text[:start], text[start+length+1:]
	return t
}

// sql returns the statement for n rows.
func (t *template) sql(d *Dialect, n int) string {
	size := n
	if d.Arrays || len(t.columns) == 0 {
		size = 0
	}
	if s, ok := t.once.Load(cacheKey{d.Name, size}); ok {
		return s.(string)
	}
	s := t.build(d, size)
	t.once.Store(cacheKey{d.Name, size}, s)
	return s
}

type cacheKey struct {
	dialect string
	size    int
}

func (t *template) build(d *Dialect, size int) string {
	var b strings.Builder
	b.WriteString(t.before)
	scalars := 0 // parameters before the first scalar
	if len(t.columns) > 0 {
		if d.Arrays {
			scalars = len(t.columns)
			t.writeUnnest(&b)
		} else {
			scalars = len(t.columns) * size
			t.writeValues(&b, size)
		}
	}
	b.WriteString(t.after)
	s := b.String()
	s = strings.NewReplacer("{update}", d.ForUpdate, "{share}", d.ForShare, "{skip}", d.SkipLocked).Replace(s)
	for i := 9; i > 0; i-- {
		s = strings.ReplaceAll(s, "{"+strconv.Itoa(i)+"}", d.Placeholder+strconv.Itoa(scalars+i))
	}
	return s
}

func (t *template) writeUnnest(b *strings.Builder) {
	b.WriteString("unnest(")
	for i, c := range t.columns {
		fmt.Fprintf(b, "%s$%d::%s", comma(i), i+1, postgresArrays[c.kind])
	}
	b.WriteString(") as r(")
	for i, c := range t.columns {
		b.WriteString(comma(i) + c.name)
	}
	b.WriteString(")")
}

func (t *template) writeValues(b *strings.Builder, size int) {
	b.WriteString("(select ")
	for i, c := range t.columns {
		fmt.Fprintf(b, "%scolumn%d as %s", comma(i), i+1, c.name)
	}
	b.WriteString(" from (values ")
	for i := range size {
		b.WriteString(comma(i) + "(")
		for k := range t.columns { // numbered: a bare mark would count on from a scalar that stands before it
			b.WriteString(comma(k) + "?" + strconv.Itoa(i*len(t.columns)+k+1))
		}
		b.WriteString(")")
	}
	b.WriteString(") where column1 is not null) r")
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// padded is the size of the statement that serves n rows: the next power of two.
func padded(n int) int {
	size := 1
	for size < n {
		size *= 2
	}
	return size
}

// rows is a batch of values, row by row. Values are int64, string or []byte.
type rows struct {
	width int
	vals  []any
}

func (r *rows) add(vals ...any) {
	r.width = len(vals)
	for _, v := range vals {
		r.vals = append(r.vals, plain(v))
	}
}

func (r *rows) len() int {
	if r == nil || r.width == 0 {
		return 0
	}
	return len(r.vals) / r.width
}

// args gives the parameters of t for these rows and scalars.
func (r *rows) args(t *template, d *Dialect, scalars []any) []any {
	if len(t.columns) == 0 {
		return scalars
	}
	if !d.Arrays {
		args := make([]any, 0, padded(r.len())*r.width+len(scalars))
		args = append(args, r.vals...)
		for len(args) < padded(r.len())*r.width {
			args = append(args, nil)
		}
		return append(args, scalars...)
	}
	args := make([]any, 0, len(t.columns)+len(scalars))
	for i, c := range t.columns {
		args = append(args, r.array(i, c.kind))
	}
	return append(args, scalars...)
}

// array is column i as PostgreSQL takes it.
func (r *rows) array(i int, kind string) any {
	n := r.len()
	switch kind {
	case "int":
		return gather[int64](r, i, n)
	case "text":
		return gather[string](r, i, n)
	}
	return gather[[]byte](r, i, n)
}

func gather[T any](r *rows, i, n int) []T {
	out := make([]T, n)
	for k := range n {
		out[k], _ = r.vals[k*r.width+i].(T)
	}
	return out
}
