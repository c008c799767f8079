package app_test

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/app"
)

// liveAdmins counts the keys that work and are called admin.
func (g *gateway) liveAdmins() (n int) {
	g.t.Helper()
	for _, k := range g.call(http.MethodGet, "/v1/keys", nil).Body["data"].([]any) {
		if k := k.(map[string]any); k["name"] == "admin" && k["revoked_at"] == nil {
			n++
		}
	}
	return n
}

// An installation makes one admin key. A data folder that has lost its file gets none by a start, and has a way to another.
//
// covers: X1, X5
func TestALostAdminKeyIsMadeByHand(t *testing.T) {
	onEveryStore(t, func(t *testing.T, c app.Config) {
		one := start(t, c)
		file := one.AdminKeyFile()
		if _, err := app.MakeAdminKey(c.Data); err == nil {
			t.Error("a key that is there is written over")
		}
		one.stop()
		must(t, os.Remove(file))

		bare := start(t, c)
		if bare.AdminKeyFile() != "" {
			t.Errorf("a start without the file made %s", bare.AdminKeyFile())
		}
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Errorf("the file: %v", err)
		}
		bare.stop()

		made, err := app.MakeAdminKey(c.Data)
		must(t, err)
		if info, err := os.Stat(made); err != nil || made != filepath.Join(c.Data, "admin.key") || info.Mode().Perm() != 0o600 {
			t.Errorf("%s %v %v", made, info, err)
		}
		again := start(t, c)
		if n := again.liveAdmins(); n != 2 { // the lost one is there until somebody revokes it
			t.Errorf("admin keys: %d", n)
		}
	})
}

// A certificate that stands for a key that does not exist is told of at the start, and one whose key exists is not.
//
// covers: X7
func TestACertificateOfNoKeyIsToldOf(t *testing.T) {
	c := testConfig(t, "sqlite")
	g := start(t, c)
	id := g.call(http.MethodGet, "/v1/keys", nil).Body["data"].([]any)[0].(map[string]any)["id"].(string)
	g.stop()
	c.Listen.Clients = map[string]app.Client{"shop": {Name: "shop.example.com", Key: "abcdefghij"}, "ops": {Name: "ops.example.com", Key: id}}
	log := &written{}
	startLogged(t, c, slog.New(slog.NewTextHandler(log, nil))).stop()
	said := log.b.String()
	if !strings.Contains(said, "listen.clients.shop.key") || strings.Contains(said, "listen.clients.ops.key") {
		t.Error(said)
	}
}
