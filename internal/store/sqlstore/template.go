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
//	{1}, {2}, …           scalar parameters, in any order and as often as wanted
//	{update}, {share}, {skip}   row locks: FOR UPDATE, FOR SHARE, FOR UPDATE SKIP LOCKED
//
// PostgreSQL gets the rows as one array a column (unnest), before the scalars. SQLite writes row by row (rowForm), and
// for everything else gets a VALUES list, padded with rows of NULL to a power of two, so that a few prepared statements
// serve every size; its parameters are bare marks in the order of the text, since the driver looks a numbered one up by
// its name, which for a batch costs more than everything else.
type template struct {
	text    string
	pieces  []piece
	columns []column
	writes  bool     // it changes what it returns
	built   sync.Map // cacheKey → SQL
	once    sync.Once
	single  *rowForm
}

// piece is a stretch of a statement: text, the rows, or a scalar.
type piece struct {
	text   string
	rows   bool
	scalar int // from 1; 0: none
}

type column struct{ name, kind string }

var postgresArrays = map[string]string{"int": "bigint[]", "text": "text[]", "bytes": "bytea[]"}

// defined are the templates of this package's variables, for the test that looks at their plans.
var defined []*template

// define reads the template of a package variable. One that cannot be read is a defect of this package, found
// by every test.
func define(text string) *template {
	t := parseTemplate(text)
	defined = append(defined, t)
	return t
}

func parseTemplate(text string) *template {
	t := &template{text: text, writes: !strings.HasPrefix(text, "select") && !strings.HasPrefix(text, "with")}
	for rest := text; rest != ""; {
		start := strings.IndexByte(rest, '{')
		end := strings.IndexByte(rest, '}')
		if start < 0 || end < start {
			t.pieces = append(t.pieces, piece{text: rest})
			break
		}
		t.pieces = append(t.pieces, piece{text: rest[:start]}, t.macro(rest[start+1:end]))
		rest = rest[end+1:]
	}
	return t
}

func (t *template) macro(body string) piece {
	if n, err := strconv.Atoi(body); err == nil && n > 0 {
		return piece{scalar: n}
	}
	list, ok := strings.CutPrefix(body, "rows ")
	if !ok {
		return piece{text: "{" + body + "}"} // a lock, which depends on the engine
	}
	if t.columns != nil {
		panic("sqlstore: a statement has one batch of rows: " + t.text)
	}
	for _, c := range strings.Split(list, ",") {
		name, kind, ok := strings.Cut(strings.TrimSpace(c), " ")
		if !ok || postgresArrays[kind] == "" {
			panic("sqlstore: a column is a name and int, text or bytes: " + c)
		}
		t.columns = append(t.columns, column{name, kind})
	}
	return piece{rows: true}
}

type cacheKey struct {
	dialect string
	size    int
}

// sql returns the statement for n rows.
func (t *template) sql(d *Dialect, n int) string {
	size := padded(n)
	if d.Arrays || len(t.columns) == 0 {
		size = 0
	}
	key := cacheKey{d.Name, size}
	if s, ok := t.built.Load(key); ok {
		return s.(string)
	}
	s := t.build(d, size)
	t.built.Store(key, s)
	return s
}

func (t *template) build(d *Dialect, size int) string {
	var b strings.Builder
	locks := strings.NewReplacer("{update}", d.ForUpdate, "{share}", d.ForShare, "{skip}", d.SkipLocked)
	for _, p := range t.pieces {
		switch {
		case p.rows && d.Arrays:
			t.writeUnnest(&b)
		case p.rows:
			t.writeValues(&b, size)
		case p.scalar > 0 && d.Arrays:
			fmt.Fprintf(&b, "$%d", len(t.columns)+p.scalar)
		case p.scalar > 0:
			b.WriteByte('?')
		default:
			b.WriteString(locks.Replace(p.text))
		}
	}
	return b.String()
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
	row := "(" + strings.TrimSuffix(strings.Repeat("?,", len(t.columns)), ",") + ")"
	for i := range size {
		b.WriteString(comma(i) + row)
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
	if d.Arrays {
		args := make([]any, 0, len(t.columns)+len(scalars))
		for i, c := range t.columns {
			args = append(args, r.array(i, c.kind))
		}
		return append(args, scalars...)
	}
	if len(t.columns) == 0 && len(scalars) == 0 {
		return nil
	}
	args := make([]any, 0, padded(r.len())*len(t.columns)+len(t.pieces))
	for _, p := range t.pieces {
		switch {
		case p.rows:
			args = append(args, r.vals...)
			args = append(args, make([]any, (padded(r.len())-r.len())*r.width)...)
		case p.scalar > 0:
			args = append(args, scalars[p.scalar-1])
		}
	}
	return args
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
