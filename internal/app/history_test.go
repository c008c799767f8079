package app_test

import (
	"database/sql"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/app"
)

// age makes everything that a gateway has stored 60 days older, as far as it decides what is forgotten.
var age = []string{
	`update message set id = cast(x'0196' || substr(id, 3) as blob), created_at = 1`,
	`update message_state set message_id = cast(x'0196' || substr(message_id, 3) as blob), since = 1`,
	`update attempt_part set message_id = cast(x'0196' || substr(message_id, 3) as blob)`,
	`update event set message_id = cast(x'0196' || substr(message_id, 3) as blob)`,
	`update register set owner = cast(x'0196' || substr(owner, 3) as blob), ends = 1`,
}

// A gateway that keeps its history for a time forgets by itself what is older, and what is younger stays.
//
// covers: I17
func TestOldMessagesAreForgotten(t *testing.T) {
	c := testConfig(t, "sqlite")
	c.Feed.Keep = app.Duration(24 * time.Hour)
	first := start(t, c)
	ask := func(g *gateway, event string) string {
		id := g.post(alert(event, "+12025550100")).at("message.id")
		g.await(id, "delivered")
		return id
	}
	old := ask(first, "A-1")
	first.stop()
	db, err := sql.Open("sqlite", filepath.Join(c.Data, app.StoreFile))
	must(t, err)
	for _, statement := range age {
		_, err := db.Exec(statement)
		must(t, err)
	}
	must(t, db.Close())
	c.History.Keep = app.Duration(7 * 24 * time.Hour)
	second := start(t, c)
	aged := "msg_0196" + strings.TrimPrefix(old, "msg_")[4:]
	young := ask(second, "A-2")
	second.until("the old message to be forgotten", func() bool { return second.message(aged).Status == http.StatusNotFound })
	if r := second.message(young); r.Status != http.StatusOK {
		t.Errorf("the young message: %s", r.Raw)
	}
	second.until("what was forgotten to be counted", func() bool {
		return strings.Contains(second.call(http.MethodGet, "/metrics", nil).Raw, `einmal_history_forgotten_total{kind="message"} 1`)
	})
}

// The feed shows nothing that is not kept: where nothing is said of it, it follows a shorter history.
//
// covers: X7, I17
func TestTheFeedFollowsAShorterHistory(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"log: {level: info}\n": 30 * day, "history: {keep: 7d}\n": 7 * day, "history: {keep: 400d}\n": 30 * day,
		"history: {keep: 7d}\nfeed: {keep: 1d}\n": day,
	} {
		file := filepath.Join(t.TempDir(), "einmal.yaml")
		must(t, os.WriteFile(file, []byte(text), 0o600))
		c, err := app.Load(file, app.Flags{})
		if err != nil || time.Duration(c.Feed.Keep) != want {
			t.Errorf("%q: %s %v, want %s", text, time.Duration(c.Feed.Keep), err, want)
		}
	}
}
