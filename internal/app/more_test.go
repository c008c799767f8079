package app_test

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
)

// exceptionsOf waits until a message has so many exceptions.
func (g *gateway) exceptionsOf(id string, n int) []map[string]any {
	g.t.Helper()
	var all []map[string]any
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
		all = nil
		data, _ := g.call(http.MethodGet, "/v1/exceptions?message="+id, nil).Body["data"].([]any)
		for _, x := range data {
			all = append(all, x.(map[string]any))
		}
		if len(all) >= n {
			break
		}
	}
	return all
}

// covers: X1
func TestSecondProcessIsRefused(t *testing.T) {
	c := testConfig(t, "sqlite")
	start(t, c)
	err := app.New(c, slog.New(slog.DiscardHandler)).Start(context.Background())
	if err == nil || !strings.Contains(err.Error(), "another process uses the data folder") {
		t.Fatalf("a second gateway on the folder: %v", err)
	}
}

// How a destination was asked for is shown as long as the text is kept.
//
// covers: D2, D14
func TestDestinationAsAskedFor(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		g := start(t, c)
		body := order("T-1", "1", "(202) 555-0143")
		body["region"] = "US"
		if v := g.message(g.post(body).at("message.id")); v.at("to_received") != "(20•••0143" || v.at("to") != "+1202•••0143" {
			t.Errorf("%s", v.Raw)
		}
		id := g.post(map[string]any{
			"to": "+1 202 555 0144", "purpose": "login_code", "event": map[string]any{"id": "login-1", "version": "1"}, "text": "739152 is your code.",
		}).at("message.id")
		if v := g.await(id, "delivered"); v.at("to_received") != "+1 2•••0144" {
			t.Errorf("%s", v.Raw)
		}
	})
}

// covers: I11
func TestCancelWhilePending(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		k := c.Connections["simulator"]
		k.Kind, k.Ledger = "smpp", ""
		k.Address = "127.0.0.1:1" // nobody listens: everything stays pending
		k.Lookup = app.Lookup{}
		c.Connections = map[string]app.Connection{"carrier": k}
		g := start(t, c)
		id := g.post(order("C-1", "1", "+12025550100")).at("message.id")
		r := g.call(http.MethodPost, "/v1/messages/"+id+"/cancel", map[string]any{"reason": "ordered by mistake"})
		if r.Status != 200 || r.at("state") != "cancelled" {
			t.Fatalf("%d %s", r.Status, r.Raw)
		}
		other := g.call(http.MethodPost, "/v1/messages/"+id+"/cancel", map[string]any{"reason": "found it myself"})
		if history := g.timeline(id); other.Status != 200 || other.at("state") != "cancelled" || !strings.Contains(history, "by mistake") || strings.Contains(history, "found it") {
			t.Errorf("cancelled again, for another reason: %d %s %s", other.Status, other.Raw, history)
		}
		again := g.post(order("C-1", "1", "+12025550100"))
		if again.Status != 200 || again.at("decision.reason") != "same_intent_cancelled" {
			t.Errorf("a late duplicate of a cancelled message: %d %s", again.Status, again.Raw)
		}
		short := order("C-2", "1", "+12025550100")
		short["valid_for"] = "1s"
		g.await(g.post(short).at("message.id"), "expired")
	})
}

func TestPortInUse(t *testing.T) {
	g := start(t, testConfig(t, "sqlite"))
	c := testConfig(t, "sqlite")
	c.Listen.HTTP = g.Addr()
	err := app.New(c, slog.New(slog.DiscardHandler)).Start(context.Background())
	if err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Fatalf("a port in use: %v", err)
	}
	c.Listen.HTTP = "127.0.0.1:0"
	start(t, c) // the failed start left nothing locked
}

// A gateway whose keys are lost, or are others than its store's, does not start, makes none instead, and says
// which file is wrong.
func TestOtherKeysAreRefused(t *testing.T) {
	for _, name := range []string{"identity.key", "sealing.key"} {
		c := testConfig(t, "sqlite")
		g := start(t, c)
		g.post(order("O-1", "1", "+12025550100"))
		g.stop()
		path := filepath.Join(c.Data, "keys", name)
		must(t, os.Rename(path, path+".old"))
		refused := func(what string) {
			t.Helper()
			err := app.New(c, slog.New(slog.DiscardHandler)).Start(context.Background())
			if err == nil || !strings.Contains(err.Error(), "key") {
				t.Fatalf("%s %s: %v", name, what, err)
			}
		}
		refused("lost")
		if _, err := os.Stat(path); err == nil {
			t.Fatalf("another %s was made", name)
		}
		must(t, os.WriteFile(path, []byte(strings.Repeat("ab", 32)+"\n"), 0o600))
		refused("changed")
		must(t, os.Rename(path+".old", path))
		start(t, c)
	}
}
