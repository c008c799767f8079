package doctor_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/doctor"
	"github.com/einmal/einmal/internal/ground/certs/certstest"
)

// patient is a configuration to be looked at.
type patient struct {
	t    *testing.T
	dir  string
	o    doctor.Options
	file string // further lines of the configuration
}

func newPatient(t *testing.T) *patient {
	t.Helper()
	dir := t.TempDir()
	return &patient{t: t, dir: dir, o: doctor.Options{Sources: app.Sources{Flags: app.Flags{Listen: "127.0.0.1:0", Data: filepath.Join(dir, "data")}}}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sources writes the file.
func (p *patient) sources() app.Sources {
	s := p.o.Sources
	if p.file != "" {
		s.File = filepath.Join(p.dir, "einmal.yaml")
		must(p.t, os.WriteFile(s.File, []byte(p.file), 0o600))
	}
	return s
}

func (p *patient) examine() []doctor.Finding {
	p.t.Helper()
	o := p.o
	o.Sources = p.sources()
	return doctor.Examine(context.Background(), o)
}

// start runs a gateway of this configuration; the doctor looks where it listens.
func (p *patient) start() (stop func()) {
	p.t.Helper()
	l, err := p.sources().Load()
	must(p.t, err)
	a := app.New(l.Config, slog.New(slog.DiscardHandler))
	must(p.t, a.Start(context.Background()))
	before := p.o.Sources.Flags.Listen
	p.o.Sources.Flags.Listen = a.Addr()
	return func() {
		p.t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		must(p.t, a.Stop(ctx))
		p.o.Sources.Flags.Listen = before
	}
}

// lived has had a gateway, which has stopped.
func lived(t *testing.T) *patient {
	p := newPatient(t)
	p.start()()
	return p
}

// expect finds a finding, which has to be there.
func expect(t *testing.T, all []doctor.Finding, check string, level doctor.Level, text string) {
	t.Helper()
	for _, f := range all {
		if f.Check == check && f.Level == level && strings.Contains(f.Text, text) {
			if level != doctor.OK && f.Next == "" {
				t.Errorf("%s: nothing is said to be done: %+v", check, f)
			}
			return
		}
	}
	t.Errorf("no finding %s: %s %q in %+v", check, level, text, all)
}

// A gateway that is well, with TLS, has no warning; and nothing is changed by looking.
//
// covers: X7
func TestAllIsWell(t *testing.T) {
	p := newPatient(t)
	must(t, os.MkdirAll(filepath.Join(p.dir, "data"), 0o700))
	stop := p.start()
	defer stop()
	all := p.examine()
	for end := time.Now().Add(20 * time.Second); doctor.Worst(all) == doctor.Fail && time.Now().Before(end); all = p.examine() {
		<-time.After(20 * time.Millisecond) // it binds in the background
	}
	for _, f := range all {
		if f.Level != doctor.OK {
			t.Errorf("%+v", f)
		}
	}
	if doctor.Worst(all) != doctor.OK {
		t.Error(doctor.Worst(all))
	}
	for _, check := range []string{"configuration", "variables", "data", "disk", "gateway", "listen", "keys", "store", "schema", "mark", "connection simulator", "webhooks", "work"} {
		expect(t, all, check, doctor.OK, "")
	}
}

// Without a gateway nothing is made, and what cannot be seen is said.
func TestNothingIsThereYet(t *testing.T) {
	p := newPatient(t)
	all := p.examine()
	expect(t, all, "data", doctor.Warn, "is not there yet")
	expect(t, all, "keys", doctor.Warn, "does not hold identity.key and sealing.key")
	expect(t, all, "store", doctor.Warn, "there is no store")
	expect(t, all, "work", doctor.Warn, "no gateway was asked")
	if entries, err := os.ReadDir(p.dir); err != nil || len(entries) != 0 {
		t.Errorf("looking made %v %v", entries, err)
	}
	if doctor.Worst(all) != doctor.Warn {
		t.Error(doctor.Worst(all))
	}
}

// A store beside which nobody works is read as it is: no file appears beside it.
func TestLookingLeavesNothingBehind(t *testing.T) {
	p := lived(t)
	names := func() string {
		entries, err := os.ReadDir(filepath.Join(p.dir, "data"))
		must(t, err)
		all := ""
		for _, e := range entries {
			all += e.Name() + " "
		}
		return all
	}
	before := names()
	expect(t, p.examine(), "store", doctor.OK, "SQLite")
	if after := names(); after != before {
		t.Errorf("before %s, after %s", before, after)
	}
}

// Each check is seen to fail.
//
// covers: X7
func TestWhatIsWrongIsFound(t *testing.T) {
	data := func(p *patient, names ...string) string {
		return filepath.Join(append([]string{p.dir, "data"}, names...)...)
	}
	for name, c := range map[string]struct {
		spoil func(t *testing.T, p *patient)
		check string
		level doctor.Level
		text  string
	}{
		"configuration": {func(_ *testing.T, p *patient) { p.file = "listne: 1\n" }, "configuration", doctor.Fail, "unknown field"},
		"policy":        {func(_ *testing.T, p *patient) { p.file = "policy: file:/no/such\n" }, "configuration", doctor.Fail, "policy: the file cannot be read"},
		"unknown variable": {func(_ *testing.T, p *patient) { p.o.Sources.Environ = []string{"EINMAL_LISTEN_HTP=x"} },
			"configuration", doctor.Fail, "EINMAL_LISTEN_HTTP"},
		"idle variable": {func(_ *testing.T, p *patient) { p.o.Sources.Environ = []string{"EINMAL_DATA=elsewhere"} },
			"variables", doctor.Warn, "EINMAL_DATA sets nothing: the flag --data goes before it"},
		"little disk": {func(_ *testing.T, p *patient) { p.o.Free = func(string) (int64, error) { return 500 << 20, nil } }, "disk", doctor.Warn, "500.0 MiB are free"},
		"no disk":     {func(_ *testing.T, p *patient) { p.o.Free = func(string) (int64, error) { return 1 << 20, nil } }, "disk", doctor.Fail, "the store will stop taking requests"},
		"unseen disk": {func(_ *testing.T, p *patient) { p.o.Free = func(string) (int64, error) { return 0, errors.New("no") } }, "disk", doctor.Warn, "cannot be seen"},
		"open folder": {func(t *testing.T, p *patient) { must(t, os.Chmod(data(p), 0o755)) }, "data", doctor.Warn, "others of this machine may look"},
		"no folder":   {func(t *testing.T, p *patient) { p.o.Sources.Flags.Data = data(p, "admin.key") }, "data", doctor.Fail, "cannot be used as the data folder"},
		"clear text":  {func(_ *testing.T, p *patient) { p.o.Sources.Flags.Listen = "0.0.0.0:0" }, "listen", doctor.Warn, "in clear text"},
		"address":     {func(t *testing.T, p *patient) { p.o.Sources.Flags.Listen = inUse(t) }, "listen", doctor.Fail, "cannot be listened on"},
		"open keys":   {func(t *testing.T, p *patient) { must(t, os.Chmod(data(p, "keys", "identity.key"), 0o644)) }, "keys", doctor.Fail, "may be read by others"},
		"broken keys": {func(t *testing.T, p *patient) {
			must(t, os.WriteFile(data(p, "keys", "sealing.key"), []byte("x"), 0o600))
		}, "keys", doctor.Fail, "is damaged"},
		"lost keys":         {func(t *testing.T, p *patient) { must(t, os.RemoveAll(data(p, "keys"))) }, "keys", doctor.Fail, "does not hold identity.key and sealing.key, and the store has been written with them"},
		"dead route":        {deadRoute, "routes", doctor.Fail, "rule 1 leads to no connection that is enabled (idle, gone)"},
		"idle connection":   {deadRoute, "connection idle", doctor.OK, "it is disabled"},
		"stored connection": {deadRoute, "connection extra", doctor.Warn, "no bind was tried"},
		"other keys":        {otherKeys, "keys", doctor.Fail, "the identity key of"},
		"broken store": {func(t *testing.T, p *patient) {
			must(t, os.WriteFile(data(p, app.StoreFile), []byte("no store"), 0o600))
		}, "store", doctor.Fail, "not a database"},
		"old schema": {func(t *testing.T, p *patient) { change(t, p, "delete from goose_db_version where version_id > 5") }, "schema", doctor.Warn, "the schema is version 5"},
		"newer schema": {func(t *testing.T, p *patient) {
			change(t, p, "insert into goose_db_version (version_id, is_applied) values (9000, 1)")
			change(t, p, "insert into meta (name, value) values ('schema.min_reader', '9000') on conflict (name) do update set value = excluded.value")
		}, "schema", doctor.Fail, "start a newer release"},
		"dead letters": {func(t *testing.T, p *patient) {
			change(t, p, "insert into tenant (id, name) values (4077, 'shop')")
			change(t, p, `insert into webhook_delivery (webhook_id, seq, tenant, message_id, n, state, fence, failures, next_at, done_at, status, problem)
				values (x'01', 1, 4077, x'02', 1, 4, 0, 9, 0, 0, 500, ''), (x'01', 2, 1, x'02', 1, 3, 0, 0, 0, 1, 200, '')`)
		}, "webhooks", doctor.Warn, "dead letters: 1, of tenants: shop 1"},
		"client without a key": {clientOfNoKey, "clients", doctor.Warn, "listen.clients.shop.key is the id of no key that there is"},
		"no mark":              {func(t *testing.T, p *patient) { must(t, os.Remove(data(p)+".mark")) }, "mark", doctor.Warn, "there is no mark"},
		"damaged mark":         {func(t *testing.T, p *patient) { must(t, os.WriteFile(data(p)+".mark", []byte("x"), 0o600)) }, "mark", doctor.Fail, "is damaged"},
		"mark inside": {func(t *testing.T, p *patient) {
			must(t, os.Rename(data(p)+".mark", data(p, "m.mark")))
			p.o.Sources.Flags.Mark = data(p, "m.mark")
		}, "mark", doctor.Warn, "is in the data folder"},
		"foreign mark": {foreignMark, "mark", doctor.Warn, "is of another installation"},
		"clock behind": {func(_ *testing.T, p *patient) { p.o.Now = func() time.Time { return time.Now().Add(-time.Hour) } }, "clock", doctor.Fail, "before the last commit"},
		"no bind":      {func(_ *testing.T, p *patient) { p.file = carrierAt("127.0.0.1:1") }, "connection carrier", doctor.Warn, "no bind was tried"},
		"bind refused": {func(t *testing.T, p *patient) { p.file, p.o.Bind = carrierAt(inUse(t)), true }, "connection carrier", doctor.Fail, "a bind was tried, and does not work"},
		"PostgreSQL":   {func(_ *testing.T, p *patient) { p.o.Sources.Flags.Store = "postgres://u:tell-nobody@127.0.0.1:1/d" }, "store", doctor.Fail, "PostgreSQL cannot be asked"},
		"killed gateway": {func(t *testing.T, p *patient) {
			must(t, os.WriteFile(data(p, app.StoreFile+"-wal"), []byte("left"), 0o600))
		}, "store", doctor.Warn, "the gateway was killed"},
	} {
		t.Run(name, func(t *testing.T) {
			p := lived(t)
			c.spoil(t, p)
			all := p.examine()
			expect(t, all, c.check, c.level, c.text)
			for _, f := range all {
				if strings.Contains(f.Text, "tell-nobody") {
					t.Errorf("a secret is shown: %+v", f)
				}
			}
		})
	}
}

// deadRoute has a store with a connection that is disabled, one that is not, and a rule that leads to none.
func deadRoute(t *testing.T, p *patient) {
	change(t, p, "insert into connection (id, name, id_space) values (71, 'idle', 71), (72, 'extra', 72)")
	change(t, p, `insert into connection_setting (connection, settings, enabled, removed, version, changed_at, changed_by) values
		(71, '{"kind":"simulator"}', 0, 0, 1, 0, ''), (72, '{"kind":"smpp","address":"127.0.0.1:1"}', 1, 0, 1, 0, '')`)
	change(t, p, `insert into route (position, purpose, tenant, prefix, sender, uses) values (0, 'alert', 0, '', '', '["idle","gone"]'), (1, '', 0, '', '', '["extra"]')`)
}

// clientOfNoKey has a certificate that stands for a key that was never made.
func clientOfNoKey(t *testing.T, p *patient) {
	ca := certstest.NewAuthority(t)
	leaf := ca.Sign("sms.example.com", 90*24*time.Hour)
	p.file = "listen: {tls: {cert: 'file:" + leaf.Cert + "', key: 'file:" + leaf.Key + "', client_ca: 'file:" + ca.File + "'}, clients: {shop: {name: shop.example.com, key: abcdefghij}}}\n"
}

// inUse is an address where somebody listens who is no gateway, and answers nothing.
func inUse(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

func carrierAt(address string) string {
	return "connections: {carrier: {kind: smpp, address: '" + address + "', system_id: a, password: b}}\n"
}

func otherKeys(t *testing.T, p *patient) {
	other := lived(t)
	must(t, os.RemoveAll(filepath.Join(p.dir, "data", "keys")))
	must(t, os.Rename(filepath.Join(other.dir, "data", "keys"), filepath.Join(p.dir, "data", "keys")))
}

func foreignMark(t *testing.T, p *patient) {
	other := lived(t)
	must(t, os.Rename(filepath.Join(other.dir, "data.mark"), filepath.Join(p.dir, "data.mark")))
}

func change(t *testing.T, p *patient, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(p.dir, "data", app.StoreFile))
	must(t, err)
	_, err = db.Exec(statement)
	must(t, err)
	must(t, db.Close())
}

// A gateway that runs is asked for what it knows, and one that answers nowhere is said to.
func TestAGatewayThatIsNotWell(t *testing.T) {
	p := newPatient(t)
	stop := p.start()
	at := p.o.Sources.Flags.Listen
	p.o.Sources.Flags.Listen = "127.0.0.1:1"
	expect(t, p.examine(), "gateway", doctor.Warn, "does not answer at http://127.0.0.1:1")
	p.o.Sources.Flags.Listen = at
	stop()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"detail":"the store went back in time"}`))
			return
		}
		_, _ = w.Write([]byte("# HELP\neinmal_traffic_held 1\neinmal_exceptions_open 3\neinmal_connection_bound{connection=\"simulator\"} 0\n" +
			"einmal_webhook_overdue_seconds 400\neinmal_history_held_back_seconds 86400\n" +
			"einmal_connection_bound{connection=\"b\"} 0\neinmal_bind_slots{connection=\"b\"} 0\neinmal_bind_slots{connection=\"simulator\"} 1\n"))
	}))
	defer server.Close()
	p.o.Sources.Flags.Listen = strings.TrimPrefix(server.URL, "http://")
	p.file = "connections: {simulator: {kind: simulator}, b: {kind: smpp, address: 'x:1'}}\nroutes: [{use: [simulator, b]}]\n"
	all := p.examine()
	expect(t, all, "gateway", doctor.Fail, "the store went back in time")
	expect(t, all, "work", doctor.Fail, "traffic waits")
	expect(t, all, "work", doctor.Warn, "exceptions that wait for a person (3)")
	expect(t, all, "connection simulator", doctor.Fail, "it is not bound")
	expect(t, all, "connection b", doctor.Warn, "this node stands by")
	expect(t, all, "work", doctor.Warn, "deliveries to webhooks wait longer than they should (400)")
	expect(t, all, "work", doctor.Warn, "history is kept for longer than it should be, in seconds (86400)")
	if doctor.Worst(all) != doctor.Fail {
		t.Error(doctor.Worst(all))
	}
}

// A gateway over TLS is asked, and one that asks for certificates is told of; its address is no fault.
func TestAGatewayOverTLS(t *testing.T) {
	ca := certstest.NewAuthority(t)
	leaf := ca.Sign("sms.example.com", 90*24*time.Hour)
	tls := "tls: {cert: 'file:" + leaf.Cert + "', key: 'file:" + leaf.Key + "'"
	for more, want := range map[string]struct {
		level doctor.Level
		text  string
	}{
		"": {doctor.OK, "it is ready at https://127.0.0.1:"}, ", client_ca: 'file:" + ca.File + "', client_cert: optional": {doctor.OK, "it is ready at https"},
		", client_ca: 'file:" + ca.File + "'": {doctor.Warn, "answers nobody without a client certificate"},
	} {
		p := newPatient(t)
		p.file = "listen: {" + tls + more + "}}\n"
		stop := p.start()
		all := p.examine()
		expect(t, all, "gateway", want.level, want.text)
		for _, f := range all {
			if f.Check == "listen" && f.Level != doctor.OK {
				t.Errorf("%+v", f)
			}
		}
		stop()
	}
}

// Certificates are looked at for their pair, their time, their authority and their name.
//
// covers: X7
func TestCertificates(t *testing.T) {
	ca := certstest.NewAuthority(t)
	for name, c := range map[string]struct {
		leaf  certstest.Leaf
		level doctor.Level
		text  string
	}{
		"expired":     {ca.Sign("sms.example.com", -time.Minute), doctor.Fail, "has expired on"},
		"ends soon":   {ca.Sign("sms.example.com", 24*time.Hour), doctor.Warn, "expires on"},
		"good":        {ca.Sign("sms.example.com", 90*24*time.Hour), doctor.OK, "is in force until"},
		"right name":  {ca.Sign("sms.example.com", 90*24*time.Hour), doctor.OK, "it is for sms.example.com"},
		"other name":  {ca.Sign("else.example.com", 90*24*time.Hour), doctor.Fail, "the certificate is not for sms.example.com"},
		"no chain":    {ca.Sign("sms.example.com", 90*24*time.Hour), doctor.Warn, "authorities do not lead to"},
		"another key": {certstest.Leaf{Cert: ca.Sign("a", time.Hour).Cert, Key: ca.Sign("b", time.Hour).Key}, doctor.Fail, "cannot be used"},
	} {
		p := newPatient(t)
		p.file = "public_url: https://sms.example.com\nlisten: {tls: {cert: 'file:" + c.leaf.Cert + "', key: 'file:" + c.leaf.Key + "'}}\n"
		t.Run(name, func(t *testing.T) { expect(t, p.examine(), "certificate", c.level, c.text) })
	}
	leaf := ca.Sign("sms.example.com", 90*24*time.Hour)
	tls := "tls: {cert: 'file:" + leaf.Cert + "', key: 'file:" + leaf.Key
	p := newPatient(t)
	p.file = "listen: {" + tls + "', client_ca: 'file:" + leaf.Key + "'}}\n"
	expect(t, p.examine(), "certificate", doctor.Fail, "listen.tls.client_ca")
	must(t, os.Chmod(leaf.Key, 0o644))
	expect(t, p.examine(), "certificate", doctor.Warn, "everybody on this machine may read the key")
	p.o.Now = func() time.Time { return time.Now().Add(-24 * time.Hour) }
	expect(t, p.examine(), "certificate", doctor.Fail, "and not yet")
	p = newPatient(t)
	p.file = "connections: {carrier: {kind: smpp, address: 'x:1', " + tls + "'}}}\n"
	p.o.Now = func() time.Time { return time.Now().Add(1000 * time.Hour * 24) }
	expect(t, p.examine(), "certificate of connection carrier", doctor.Fail, "has expired")
	p = newPatient(t)
	p.file, p.o.Sources.Flags.Listen = "public_url: https://sms.example.com\n", "0.0.0.0:0"
	expect(t, p.examine(), "certificate", doctor.Warn, "public_url is https")
}
