package policy

import (
	_ "embed"
	"sync"
)

//go:embed builtin.yaml
var builtinFile []byte

// Builtin returns the policy that is in force where no other is. It is shared and must not be changed.
var Builtin = sync.OnceValue(func() *Policy {
	p, errs := Parse("builtin.yaml", builtinFile)
	if errs != nil {
		panic(errs)
	}
	return p
})

// BuiltinSource is the file that Builtin was read from.
func BuiltinSource() []byte { return builtinFile }
