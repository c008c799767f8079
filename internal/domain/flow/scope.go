package flow

import "github.com/einmal/einmal/internal/ground/ident"

// Scope is what an emergency stop holds. What is left out fits everything; the zero value holds all that waits.
type Scope struct {
	Connection int64
	Tenant     ident.Partition
	Purpose    string
}

// Holds reports whether what waits at a place, for a purpose, is in the scope.
func (s Scope) Holds(p Place, purpose string) bool {
	return (s.Connection == 0 || s.Connection == p.Connection) && (s.Tenant == 0 || s.Tenant == p.Tenant) && (s.Purpose == "" || s.Purpose == purpose)
}
