package app_test

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/einmal/einmal/internal/app"
)

const (
	aCode     = "QX73-9152" // with letters: no number that is stored looks like it
	codesWord = "zebrafinch"
	metaWord  = "marmosetto"
)

// code is a request for a one-time code to a number with these last digits.
func code(digits string) map[string]any {
	return map[string]any{
		"to": "+120255501" + digits, "purpose": "login_code", "event": map[string]any{"id": "login-" + digits, "version": "1"},
		"text": aCode + " opens the " + codesWord + ".", "metadata": map[string]any{"session": metaWord},
	}
}

// forms are the ways in which a word is found in what is stored or written: in clear, in UTF-16 as texts go over the
// air, and each of these in hexadecimal and in base64, wherever in a longer value it begins.
func forms(word string) (all [][]byte) {
	var wide []byte
	for _, u := range utf16.Encode([]rune(word)) {
		wide = append(wide, byte(u>>8), byte(u))
	}
	for _, octets := range [][]byte{[]byte(word), wide} {
		digits := hex.EncodeToString(octets)
		all = append(all, octets, []byte(digits), []byte(strings.ToUpper(digits)))
		for before := range 3 {
			for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				b := alphabet.EncodeToString(append(make([]byte, before), octets...))
				all = append(all, []byte(b[(before*8+5)/6:(before+len(octets))*8/6])) // what depends on the word alone
			}
		}
	}
	return all
}

// found are the words that are in b in one of their forms.
func found(b []byte, words ...string) (in []string) {
	for _, w := range words {
		for _, f := range forms(w) {
			if bytes.Contains(b, f) {
				in = append(in, w)
				break
			}
		}
	}
	return in
}

// stored calls look with every text and every octets in every column of every table.
func stored(t *testing.T, c app.Config, look func(where string, value []byte)) {
	t.Helper()
	driver, name, tables := "pgx", c.Store, `select tablename from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`
	if c.StoreName() == "sqlite" {
		driver, name, tables = "sqlite", filepath.Join(c.Data, app.StoreFile), `select name from sqlite_master where type = 'table'`
	}
	db, err := sql.Open(driver, name)
	must(t, err)
	defer func() { must(t, db.Close()) }()
	var names []string
	eachRow(t, db, tables, func(_ string, v any) { names = append(names, fmt.Sprint(v)) })
	if len(names) < 10 {
		t.Fatalf("the store has the tables %v", names)
	}
	for _, table := range names {
		eachRow(t, db, `select * from "`+table+`"`, func(column string, v any) {
			switch x := v.(type) {
			case string:
				look(table+"."+column, []byte(x))
			case []byte:
				look(table+"."+column, x)
			}
		})
	}
}

func eachRow(t *testing.T, db *sql.DB, query string, each func(column string, v any)) {
	t.Helper()
	rows, err := db.Query(query)
	must(t, err)
	defer func() { _ = rows.Close() }() // what went wrong is asked for below
	columns, err := rows.Columns()
	must(t, err)
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		must(t, rows.Scan(into...))
		for i, v := range values {
			each(columns[i], v)
		}
	}
	must(t, rows.Err())
}

// written is a log that several goroutines write.
type written struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(b)
}

// A one-time code is nowhere in clear: not in the answers that show it, not in a metric, not in the log at its most
// talkative and before anything is masked, not in a column of a table, and not in a file of the data folder. That holds
// for receipts that quote it, whether they find their message or not.
//
// covers: D15
func TestSecretsStaySealed(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		k := c.Connections["simulator"]
		k.NoEcho, k.Lookup, k.ResponseTimeout = true, app.Lookup{}, app.Duration(200*time.Millisecond)
		c.Connections["simulator"] = k
		c.Receipts.Grace = app.Duration(time.Second)
		log := &written{}
		g := startLogged(t, c, slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
		ids := g.sendCodes(map[string]string{"00": "delivered", "04": "unknown", "08": "delivered", "09": "delivered", "11": "accepted"})
		g.checkExceptions([]string{"conflicting", "lost_answer", "unreadable"})
		g.keepsQuiet(ids)
		if r := g.post(map[string]any{"to": aCode, "purpose": aCode, "region": aCode, "text": aCode, aCode: aCode}); r.Status != 400 || len(found([]byte(r.Raw), aCode)) > 0 {
			t.Errorf("a request that is wrong: %d %s", r.Status, r.Raw)
		}
		g.stop()
		if in := found(log.b.Bytes(), aCode, codesWord, metaWord); len(in) > 0 || log.b.Len() == 0 {
			t.Errorf("the log has %v in %d octets", in, log.b.Len())
		}
		receipts, numbers := 0, 0
		stored(t, c, func(where string, value []byte) {
			if in := found(value, aCode, codesWord, metaWord); len(in) > 0 {
				t.Errorf("%s holds %v: %q", where, in, value)
			}
			receipts += map[bool]int{true: 1}[where == "receipt.payload" && len(value) > 0]
			numbers += len(found(value, "2025550109"))
		})
		if receipts < 6 || numbers == 0 {
			t.Errorf("the search is blind: %d receipts, the number %d times", receipts, numbers)
		}
		files := filesOf(t, c.Data, func(name string, b []byte) {
			if in := found(b, aCode, codesWord, metaWord); len(in) > 0 {
				t.Errorf("%s holds %v", name, in)
			}
		})
		if files < 3 {
			t.Errorf("%d files were searched", files)
		}
	})
}

// sendCodes sends a code for each ending, and waits for how it ends.
func (g *gateway) sendCodes(ends map[string]string) (ids []string) {
	g.t.Helper()
	for digits, state := range ends {
		r := g.post(code(digits))
		if r.Status != http.StatusCreated || len(found([]byte(r.Raw), aCode)) > 0 {
			g.t.Fatalf("%d %s", r.Status, r.Raw)
		}
		g.await(r.at("message.id"), state)
		ids = append(ids, r.at("message.id"))
	}
	return ids
}

// keepsQuiet looks for the code, and for whole numbers, in whatever the API shows.
func (g *gateway) keepsQuiet(ids []string) {
	g.t.Helper()
	paths := []string{"/v1/messages", "/v1/decisions", "/v1/receipts", "/v1/exceptions", "/v1/exception-groups", "/v1/events?after=0&limit=1000", "/metrics"}
	for _, id := range ids {
		paths = append(paths, "/v1/messages/"+id, "/v1/messages/"+id+"/timeline", "/v1/receipts?message="+id)
	}
	for _, path := range paths {
		if got := g.call(http.MethodGet, path, nil); got.Status != 200 || len(found([]byte(got.Raw), aCode, codesWord, "20255501")) > 0 {
			g.t.Errorf("%s: %d, and shows the code or a whole number: %s", path, got.Status, got.Raw)
		}
	}
}

// filesOf calls look with every file below a folder, and counts them.
func filesOf(t *testing.T, folder string, look func(name string, b []byte)) (n int) {
	t.Helper()
	must(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		look(d.Name(), b)
		n++
		return err
	}))
	return n
}

// The search above finds what it looks for.
func TestFormsOfAWord(t *testing.T) {
	for _, value := range []string{
		"a " + aCode + ".", base64.StdEncoding.EncodeToString([]byte("?" + aCode + "?")), base64.URLEncoding.EncodeToString([]byte("??" + aCode)),
		hex.EncodeToString([]byte("x" + aCode)), strings.ToUpper(hex.EncodeToString([]byte(aCode))), "\x00Q\x00X\x007\x003\x00-\x009\x001\x005\x002",
	} {
		if len(found([]byte(value), aCode)) != 1 {
			t.Errorf("%q is not seen to hold %s", value, aCode)
		}
	}
	if in := found([]byte("QX73 9152"), aCode); len(in) != 0 {
		t.Errorf("found %v where it is not", in)
	}
}
