package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store"
)

// adminKeyFile holds the first key. It is written once and never printed.
const adminKeyFile = "admin.key"

// ensureAdminKey makes the file at the first start. A key in the file that the store does not know, after a
// change of the store, is made known to it; one that was revoked stays revoked.
func ensureAdminKey(ctx context.Context, s store.Keys, id *secret.Identity, tenant ident.Partition, data string) (string, error) {
	path := filepath.Join(data, adminKeyFile)
	key, err := readAdminKey(path)
	if err != nil {
		return path, err
	}
	_, err = s.Key(ctx, key.ID)
	if fault.CodeOf(err) != fault.NotFound || err == nil {
		return path, err
	}
	_, err = s.PutKey(ctx, store.APIKey{
		ID: key.ID, Tenant: tenant, Name: "admin", Hash: id.HashAPIKey(key), Scopes: "send read review admin", CreatedBy: "first start",
	}, nil) // every node has one of its own: no limit
	return path, err
}

func readAdminKey(path string) (secret.APIKey, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key := secret.NewAPIKey()
		return key, writePrivate(path, key.Text()+"\n")
	}
	if err != nil {
		return secret.APIKey{}, err
	}
	key, err := secret.ParseAPIKey(strings.TrimSpace(string(b)))
	if err != nil {
		return key, fmt.Errorf("%s holds no API key: remove it, and the next start makes another", path)
	}
	return key, nil
}

// writePrivate writes a file that only its owner may read, whole or not at all.
func writePrivate(path, text string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.WriteString(text)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}
