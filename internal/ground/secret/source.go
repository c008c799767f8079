package secret

import (
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
)

// Source is where an installation keeps its keys. A vault is one more implementation.
type Source interface {
	// Missing lists the keys that Open would make. A source that makes none has none missing: Open says what is.
	Missing() []string
	// Open returns both keys. It fails rather than to return one that is not the installation's: errors say what to do.
	Open() (*Folder, error)
	// String names the source to people.
	String() string
}

// FolderSource is a folder with a file for each key.
type FolderSource string

// Missing implements Source.
func (f FolderSource) Missing() []string { return Missing(string(f)) }

// Open implements Source. It makes what is missing.
func (f FolderSource) Open() (*Folder, error) { return OpenFolder(string(f)) }

// String is the folder's path.
func (f FolderSource) String() string { return filepath.Clean(string(f)) }

// EnvSource is two variables of the environment, for places that hand secrets over so. It makes no keys: the next start
// would not find them.
type EnvSource struct {
	Prefix string
	Lookup func(name string) (string, bool) // such as os.LookupEnv
}

// Variables are the names of the two, by the prefix.
func Variables(prefix string) []string {
	return []string{prefix + "_IDENTITY_KEY", prefix + "_SEALING_KEY"}
}

// Missing implements Source.
func (EnvSource) Missing() []string { return nil }

// Open implements Source.
func (e EnvSource) Open() (*Folder, error) {
	f := &Folder{}
	for i, to := range []*[KeySize]byte{&f.Identity, &f.Sealing} {
		name := Variables(e.Prefix)[i]
		text, there := e.Lookup(name)
		if !there || text == "" {
			return nil, fmt.Errorf("the environment has no variable %s: give it the %d hexadecimal digits of that key, as openssl rand -hex %d makes them for a new installation",
				name, 2*KeySize, KeySize)
		}
		raw, err := hex.DecodeString(strings.TrimSpace(text))
		if err != nil || len(raw) != KeySize {
			return nil, fmt.Errorf("the variable %s is no key: it has to hold %d hexadecimal digits", name, 2*KeySize)
		}
		*to = [KeySize]byte(raw)
	}
	return f, nil
}

// String names the variables.
func (e EnvSource) String() string { return "the environment (" + e.Prefix + "_…)" }
