package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/einmal/einmal/internal/engine/watch"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store"
	"github.com/einmal/einmal/internal/store/sqlstore"
)

// KeySource is where the keys are.
func (c Config) KeySource() secret.Source {
	kind, rest, _ := strings.Cut(c.Keys, ":")
	switch kind {
	case "file":
		return secret.FolderSource(rest)
	case "env":
		return secret.EnvSource{Prefix: rest, Lookup: os.LookupEnv}
	}
	return secret.FolderSource(filepath.Join(c.Data, "keys"))
}

func (a *App) openFolder(context.Context) (err error) {
	a.lock, err = lockFolder(a.cfg.Data)
	return err
}

func (a *App) openStore(ctx context.Context) (err error) {
	retries := a.metrics.Counter("store_retries_total", "Transactions that were made again, by the class of the error.", "class")
	count := func(c sqlstore.Class) { retries.WithLabelValues(c.String()).Inc() }
	if a.store, err = OpenStore(ctx, a.cfg, a.log, count); err != nil {
		return err
	}
	a.hub = watch.New(watch.Config{Store: a.store, Log: a.log})
	a.store = watch.Store{Store: a.store, Hub: a.hub}
	if err := a.openKeys(ctx); err != nil {
		return err
	}
	if err := checkSealing(ctx, a.store, a.sealer, a.cfg.KeySource()); err != nil {
		return err
	}
	if a.tenant, err = a.store.EnsureTenant(ctx, "default"); err != nil {
		return err
	}
	a.adminKey, err = ensureAdminKey(ctx, a.store, a.identity, a.tenant, a.cfg.Data)
	return err
}

// firstKeys is noted before the keys of a new store are made: a first start that was killed is no store that is gone.
const firstKeys = "first_keys"

// openKeys opens the keys, makes those of a new store, and has the store watched.
func (a *App) openKeys(ctx context.Context) error {
	keys := a.cfg.KeySource()
	if err := refuseLostKeys(ctx, a.store, keys); err != nil {
		return err
	}
	known, err := a.store.Meta(ctx, "identity_check")
	if a.fresh = known == ""; err == nil && a.fresh && len(keys.Missing()) > 0 {
		_, err = a.store.EnsureMeta(ctx, firstKeys, "made")
	}
	if err != nil {
		return err
	}
	made, err := a.store.Meta(ctx, firstKeys)
	if err != nil {
		return err
	}
	folder, err := keys.Open()
	if err != nil {
		return err
	}
	a.identity, a.sealer = secret.NewIdentity(folder.Identity), secret.NewSealer(folder.Sealing, a.store)
	return a.watch(ctx, a.fresh && made == "")
}

// refuseLostKeys keeps new keys from being made for a store that has its own somewhere else.
func refuseLostKeys(ctx context.Context, s store.Registry, keys secret.Source) error {
	known, err := s.Meta(ctx, "identity_check")
	if missing := keys.Missing(); err == nil && known != "" && len(missing) > 0 {
		err = fmt.Errorf("the store has its keys and %s does not hold %s: bring back the folder that belongs to this store, or for another node copy that of the first",
			keys, strings.Join(missing, " and "))
	}
	return err
}

// checkSealing refuses to work with another sealing key than the store's: nothing that is stored could be opened,
// and what waits to be sent could not be sent.
func checkSealing(ctx context.Context, s store.Registry, sealer *secret.Sealer, keys secret.Source) error {
	known, err := s.EnsureMeta(ctx, "sealing_check", sealer.Check())
	if err == nil && known != sealer.Check() {
		err = fmt.Errorf("the store was sealed under another key than that of %s: put that key back", keys)
	}
	return err
}
