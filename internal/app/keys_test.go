package app_test

import (
	"context"
	"encoding/hex"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/ground/secret"
)

// Keys that were made before their store: the first start waits for a word, since a store that is missing looks the same.
//
// covers: X7, D20
func TestKeysBeforeTheirStore(t *testing.T) {
	t.Setenv("VAULT_IDENTITY_KEY", strings.Repeat("ab", secret.KeySize))
	t.Setenv("VAULT_SEALING_KEY", strings.Repeat("cd", secret.KeySize))
	c := testConfig(t, "sqlite")
	c.Keys = "env:VAULT"
	g := start(t, c)
	if !strings.Contains(g.Held(), "its keys are not new") {
		t.Errorf("held: %q", g.Held())
	}
	if r := g.call(http.MethodPost, "/v1/restored", map[string]any{"reason": "a new installation"}); r.Status != http.StatusAccepted {
		t.Errorf("%d %s", r.Status, r.Raw)
	}
	g.until("traffic", func() bool { return g.call(http.MethodGet, "/readyz", nil).Status == http.StatusOK })
	g.await(g.post(alert("first", "+12025550100")).at("message.id"), "delivered")
}

// The keys may move out of the data folder, to another one or to the environment; others than the store's are refused.
//
// covers: X7
func TestKeysFromOutside(t *testing.T) {
	c := testConfig(t, "sqlite")
	start(t, c).stop()
	inside, outside := filepath.Join(c.Data, "keys"), filepath.Join(t.TempDir(), "keys")
	must(t, os.Rename(inside, outside))
	keys, err := secret.FolderSource(outside).Open()
	must(t, err)
	t.Setenv("VAULT_IDENTITY_KEY", hex.EncodeToString(keys.Identity[:]))
	t.Setenv("VAULT_SEALING_KEY", hex.EncodeToString(keys.Sealing[:]))
	for _, from := range []string{"file:" + outside, "env:VAULT"} {
		c.Keys = from
		g := start(t, c)
		if g.Held() != "" {
			t.Errorf("%s: %s", from, g.Held())
		}
		g.await(g.post(alert(from, "+12025550100")).at("message.id"), "delivered")
		g.stop()
	}
	if len(secret.Missing(inside)) != 2 {
		t.Error("keys were made in the data folder")
	}
	for wrong, want := range map[string]string{
		"":                              "identity.key and sealing.key",
		"env:NO_SUCH":                   "no variable NO_SUCH_IDENTITY_KEY",
		"file:" + t.TempDir() + "/none": "identity.key and sealing.key",
	} {
		c.Keys = wrong
		if err := app.New(c, slog.New(slog.DiscardHandler)).Start(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", wrong, err, want)
		}
	}
	t.Setenv("VAULT_SEALING_KEY", strings.Repeat("ab", secret.KeySize))
	c.Keys = "env:VAULT"
	if err := app.New(c, slog.New(slog.DiscardHandler)).Start(context.Background()); err == nil || !strings.Contains(err.Error(), "another key than that of the environment (VAULT_…)") {
		t.Errorf("another sealing key: %v", err)
	}
}
