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

// adminKeyMade names the first key in the store: of nodes that start at the same moment, one makes it.
const adminKeyMade = "admin_key"

// ensureAdminKey makes the file at the first start of an installation, and returns its path; "": this node has none, since
// another made it or the file is gone. A key in the file that the store does not know, after a change of the store or from
// MakeAdminKey, is made known to it; one that was revoked stays revoked.
func ensureAdminKey(ctx context.Context, s store.Store, id *secret.Identity, tenant ident.Partition, data string) (string, error) {
	path := filepath.Join(data, adminKeyFile)
	key, err := readAdminKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if key, err = firstAdminKey(ctx, s, path); err != nil || key.ID == "" {
			return "", err
		}
	}
	if err != nil {
		return path, err
	}
	if _, err = s.EnsureMeta(ctx, adminKeyMade, key.ID); err != nil { // of a store that is older than this word
		return path, err
	}
	_, err = s.Key(ctx, key.ID)
	if fault.CodeOf(err) != fault.NotFound || err == nil {
		return path, err
	}
	_, err = s.PutKey(ctx, store.APIKey{
		ID: key.ID, Tenant: tenant, Name: "admin", Hash: id.HashAPIKey(key), Scopes: "send read review admin", CreatedBy: "first start",
	}, nil) // who can write the file decides: no limit
	return path, err
}

// firstAdminKey writes the file, unless the installation has had its first key. The file comes before the word in the
// store: a kill between them leaves a key that the next start makes known, and never an installation without one.
func firstAdminKey(ctx context.Context, s store.Registry, path string) (secret.APIKey, error) {
	if made, err := s.Meta(ctx, adminKeyMade); err != nil || made != "" {
		return secret.APIKey{}, err
	}
	key := secret.NewAPIKey()
	if err := writePrivate(path, key.Text()+"\n"); err != nil {
		return secret.APIKey{}, err
	}
	made, err := s.EnsureMeta(ctx, adminKeyMade, key.ID)
	if err != nil || made == key.ID {
		return key, err
	}
	return secret.APIKey{}, os.Remove(path)
}

// MakeAdminKey writes a key of all scopes to a data folder that has none. The next start on it makes it known to the store:
// this is the way back where every admin key is lost, for whoever may write to the folder and start the gateway.
func MakeAdminKey(data string) (path string, err error) {
	path = filepath.Join(data, adminKeyFile)
	switch _, err := os.Stat(path); {
	case err == nil:
		return path, fmt.Errorf("%s is there already: remove it if its key is revoked or of no use", path)
	case !errors.Is(err, fs.ErrNotExist):
		return path, err
	}
	return path, writePrivate(path, secret.NewAPIKey().Text()+"\n")
}

func readAdminKey(path string) (secret.APIKey, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return secret.APIKey{}, err
	}
	key, err := secret.ParseAPIKey(strings.TrimSpace(string(b)))
	if err != nil {
		return key, fmt.Errorf("%s holds no API key: remove it; a key of another node may be copied there, or  einmal key admin  makes one", path)
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
