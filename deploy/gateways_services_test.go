//go:build services

package deploy_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/store/storetest"
)

// The gateways of the Compose file, in this process: with the variables that it gives them, but for the places, the second
// one starts with the keys that the first one made, and both decide as one.
//
// covers: X1, X7
func TestComposeGatewaysShareTheWork(t *testing.T) {
	var c compose
	strictly(t, "compose.yaml", &c)
	dir, store, key := t.TempDir(), storetest.PostgresDatabase(t).String(), ""
	answers := map[string]string{}
	for _, name := range []string{"gateway-a", "gateway-b"} {
		s, environ := c.Service[name], []string(nil)
		for variable, value := range s.Environment {
			switch variable {
			case "EINMAL_STORE":
				value = store
			case "EINMAL_KEYS":
				value = strings.Replace(value, "/var/lib", dir, 1)
			}
			environ = append(environ, variable+"="+value)
		}
		environ = append(environ, "EINMAL_DATA="+filepath.Join(dir, name), "EINMAL_LISTEN_HTTP=127.0.0.1:0")
		must(t, os.MkdirAll(filepath.Join(dir, "einmal-keys"), 0o700)) // the volume
		l, err := app.Sources{Environ: environ}.Load()
		must(t, err)
		g := app.New(l.Config, slog.New(slog.DiscardHandler))
		must(t, g.Start(context.Background()))
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			must(t, g.Stop(ctx))
		})
		if g.Held() != "" {
			t.Errorf("%s: %s", name, g.Held())
		}
		if file := g.AdminKeyFile(); file != "" { // the first one's
			b, err := os.ReadFile(file)
			must(t, err)
			key += strings.TrimSpace(string(b))
		}
		answers[name] = order(t, g, key)
	}
	if !strings.Contains(answers["gateway-a"], `"action":"allow"`) || !strings.Contains(answers["gateway-b"], `"class":"technical_duplicate"`) {
		t.Errorf("%v", answers)
	}
}

// order sends the same request as to every other.
func order(t *testing.T, g *app.App, key string) string {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://"+g.Addr()+"/v1/messages", strings.NewReader(
		`{"to":"+12025550100","purpose":"alert","event":{"id":"A-1","version":"1"},"text":"Attention."}`))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	b, err := io.ReadAll(res.Body)
	must(t, err)
	must(t, res.Body.Close())
	return string(b)
}
