package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
)

// operated is a gateway that an operator starts, stops and asks, by commands alone.
type operated struct {
	t       *testing.T
	data    string
	address string
	more    []string // flags of serve
	signals chan os.Signal
	ended   chan int
	out     *transcript
}

// transcript is what a command prints, readable while it runs.
type transcript struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *transcript) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *transcript) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func newOperated(t *testing.T) *operated {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return &operated{t: t, data: filepath.Join(t.TempDir(), "data"), address: address}
}

func (o *operated) env(out io.Writer) Env {
	return Env{
		Stdin: strings.NewReader(""), Stdout: out, Stderr: out, Getenv: func(string) string { return "" },
		Signals: o.signals, Hangups: func() <-chan os.Signal { return nil }, Started: time.Now(), App: realApp(),
	}
}

// serve starts the gateway and waits until it has said this.
func (o *operated) serve(said string) string {
	o.t.Helper()
	o.signals, o.ended, o.out = make(chan os.Signal, 2), make(chan int, 1), &transcript{}
	env := o.env(o.out)
	go func() {
		o.ended <- Run(context.Background(), append([]string{"serve", "--data", o.data, "--listen", o.address, "--log-level", "error"}, o.more...), env)
	}()
	for end := time.Now().Add(20 * time.Second); !strings.Contains(o.out.String(), said); <-time.After(20 * time.Millisecond) {
		if time.Now().After(end) {
			o.t.Fatalf("the gateway does not say %q: %s", said, o.out)
		}
	}
	return o.out.String()
}

func (o *operated) stop() {
	o.t.Helper()
	o.signals <- syscall.SIGTERM
	if code := <-o.ended; code != exitDone {
		o.t.Errorf("the gateway ended with %d: %s", code, o.out)
	}
}

// run runs a command against the gateway, which has to be done.
func (o *operated) run(args ...string) string {
	o.t.Helper()
	var out bytes.Buffer
	args = append(args, "--url", "http://"+o.address, "--key-file", filepath.Join(o.data, "admin.key"))
	if code := Run(context.Background(), args, o.env(&out)); code != exitDone {
		o.t.Errorf("einmal %s ended with %d: %s", strings.Join(args, " "), code, &out)
	}
	return out.String()
}

// copyStore takes a copy as the page says, and returns what puts it in place.
func (o *operated) copyStore() (putBack func()) {
	o.t.Helper()
	store, backup := filepath.Join(o.data, app.StoreFile), filepath.Join(o.t.TempDir(), "copy.db")
	page := pageCommands(o.t, "restore.md", "backup-sqlite")
	if len(page) != 1 {
		o.t.Fatalf("the page has %q", page)
	}
	o.follow(strings.ReplaceAll(page[0][0], "copy.db", backup)+" --data "+o.data, strings.ReplaceAll(page[0][1], "copy.db", backup))
	return func() {
		b, err := os.ReadFile(backup)
		for _, suffix := range []string{"-wal", "-shm"} {
			if gone := os.Remove(store + suffix); !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
		if err = errors.Join(err, os.WriteFile(store, b, 0o600)); err != nil {
			o.t.Fatal(err)
		}
	}
}

// follow runs a command that needs no gateway, which has to say this.
func (o *operated) follow(command, want string) {
	o.t.Helper()
	var out bytes.Buffer
	if code := Run(context.Background(), pageWords(command), o.env(&out)); code != exitDone || !strings.Contains(out.String(), want) {
		o.t.Fatalf("einmal %s ended with %d and does not say %q: %s", command, code, want, &out)
	}
}

// pageCommands are the commands of a page between two marks, each with the words that its output has to have.
func pageCommands(t *testing.T, page, mark string) (all [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)<!-- " + mark + " -->\n```console\n(.*?)```\n<!-- /" + mark + " -->").FindSubmatch(text)
	if found == nil {
		t.Fatalf("docs/%s has no commands marked %s", page, mark)
	}
	for line := range strings.Lines(string(found[1])) {
		line = strings.TrimSpace(line)
		if command, is := strings.CutPrefix(strings.Replace(line, "$ einmal ", "$ ", 1), "$ "); is {
			all = append(all, []string{command})
		} else {
			all[len(all)-1] = append(all[len(all)-1], line)
		}
	}
	return all
}

// pageWords takes a command line apart as a shell does, as far as these pages go.
func pageWords(command string) (args []string) {
	for _, m := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(command, -1) {
		args = append(args, m[1]+m[2])
	}
	return args
}

// The page's commands do what it says, after a copy was put back in which a message waits.
//
// covers: D20
func TestRestorePage(t *testing.T) {
	o := newOperated(t)
	followRestorePage(t, o, o.copyStore)
}

// followRestorePage takes a copy in which a message waits, puts it back, and does what the page says.
func followRestorePage(t *testing.T, o *operated, copyStore func() (putBack func())) {
	t.Helper()
	o.serve("admin key:")
	o.run("stop", "--purpose", "alert", "--by", "Ann", "--reason", "a copy is taken")
	id := regexp.MustCompile(`msg_\w+`).FindString(o.run("send", "--to", "+12025550143", "--purpose", "alert", "--event-id", "a", "--event-version", "1", "--text", "Attention."))
	putBack := copyStore()
	o.run("resume", "--purpose", "alert", "--by", "Ann", "--reason", "it is taken")
	o.stop()
	putBack()
	now := strings.NewReplacer("msg_…", id, "2026-12-31T10:00:00Z", time.Now().UTC().Format(time.RFC3339Nano))
	page := pageCommands(t, "restore.md", "restore")
	if len(page) != 4 || id == "" {
		t.Fatalf("the page has the commands %q for %q", page, id)
	}
	for _, c := range page {
		var out string
		if args := pageWords(now.Replace(c[0])); args[0] == "serve" {
			out = o.serve(c[1])
		} else {
			out = o.run(args...)
		}
		for _, want := range c[1:] {
			if !strings.Contains(out, want) {
				t.Errorf("einmal %s does not say %q: %s", c[0], want, out)
			}
		}
	}
	o.stop()
}
