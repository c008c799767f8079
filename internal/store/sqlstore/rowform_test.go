package sqlstore

import (
	"reflect"
	"strings"
	"testing"
)

func TestStatementsForOneRow(t *testing.T) {
	col, scalar := func(n int) source { return source{column: n} }, func(n int) source { return source{scalar: n} }
	for text, want := range map[string]rowForm{
		`insert into t (a, b) select * from {rows a int, b text}`: {"insert into t (a, b) values (?, ?)", []source{col(0), col(1)}},
		`insert into t (a, b, c, d)
			select b, {2}, 0, {1} from {rows a int, b text} where true order by b on conflict (a) do update set c = excluded.c`: {"insert into t (a, b, c, d) values (?, ?, 0, ?) on conflict (a) do update set c = excluded.c", []source{col(1), scalar(2), scalar(1)}},
		`insert into t (a, b) select u.a, r.b from {rows a int, b text} cross join u where u.a = r.a`: {"insert into t (a, b) select u.a, ? from u where u.a = ?", []source{col(1), col(0)}},
		`update t set a = r.a, b = b + r.b, c = {1}
			from {rows k bytes, a int, b int} where t.k = r.k and (t.a = {2}) is true`: {"update t set a = ?, b = b + ?, c = ? where t.k = ? and (t.a = ?) is true", []source{col(1), col(2), scalar(1), col(0), scalar(2)}},
		`delete from t where (a, b) in (select r.a, r.b from {rows a int, b text})`: {"delete from t where (a, b) = (?, ?)", []source{col(0), col(1)}},
		`delete from t where s = {1} and id in (select id from {rows id bytes})`:    {"delete from t where s = ? and id = (?)", []source{scalar(1), col(0)}},
	} {
		q := parseTemplate(text)
		if !q.writesRows() {
			t.Errorf("%s is not taken for a write", text)
			continue
		}
		got := q.byRow()
		got.sql = strings.Join(strings.Fields(strings.ReplaceAll(got.sql, "( ", "(")), " ")
		got.sql = strings.ReplaceAll(got.sql, " )", ")")
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("%s\n\t got %+v\n\twant %+v", text, *got, want)
		}
	}
	for _, text := range []string{
		`select a from {rows a int}`, `insert into t (a) select * from {rows a int} returning a`, `update t set a = {1}`,
	} {
		if parseTemplate(text).writesRows() {
			t.Errorf("%s is taken for a write of rows", text)
		}
	}
	f, r, got := &rowForm{args: []source{col(1), scalar(1), col(0)}}, &rows{}, make([]any, 3)
	r.add(1, "x")
	r.add(2, "y")
	f.fill(r, 1, []any{int64(9)}, func(k int, v any) { got[k] = v })
	if !reflect.DeepEqual(got, []any{"y", int64(9), int64(2)}) {
		t.Errorf("the second row's parameters are %v", got)
	}
}
