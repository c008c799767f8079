package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/einmal/einmal/internal/ground/telemetry"
)

// Machine is where a run was made. Load says what else ran when it began.
type Machine struct {
	Cores    int    `json:"cores"`
	CPU      string `json:"cpu"`
	System   string `json:"system"`
	Load     string `json:"load"` // over 1, 5 and 15 minutes
	Go       string `json:"go"`
	Revision string `json:"revision"`
	Store    string `json:"store"` // the engine's version
}

func machineOf(ctx context.Context, store string) (Machine, error) {
	build := telemetry.BuildVersion()
	m := Machine{
		Cores: runtime.GOMAXPROCS(0), CPU: cpuModel(), System: runtime.GOOS + "/" + runtime.GOARCH,
		Load: loadAverage(), Go: build.Go, Revision: build.Revision,
	}
	var err error
	m.Store, err = storeVersion(ctx, store)
	return m, err
}

// errStore says what may be measured.
var errStore = errors.New("the store is sqlite or a PostgreSQL server: write postgres://user:password@host:port/database")

func storeVersion(ctx context.Context, store string) (version string, err error) {
	driver, source, question := "pgx", store, "show server_version"
	switch {
	case store == sqliteStore:
		driver, source, question = "sqlite", ":memory:", "select sqlite_version()"
	case !strings.HasPrefix(store, "postgres://") && !strings.HasPrefix(store, "postgresql://"):
		return "", errStore
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return "", err
	}
	defer closing(&err, db)
	if err := db.QueryRowContext(ctx, question).Scan(&version); err != nil {
		return "", fmt.Errorf("the store does not answer: %w", err)
	}
	return engineOf(store) + " " + version, nil
}

// loadAverage is the first three words of /proc/loadavg, "" on systems without.
func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(b))[:3], " ")
}

func cpuModel() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
