package flow

// BindShare is how many of a connection's binds a node may hold: one of several that want some, in a line by how long they
// have wanted them. Each has as many as any other or one less, and all together have them all. Who comes last stands
// last, so a newcomer takes from the others no more than what makes it equal, and who goes leaves nobody with less.
func BindShare(binds, nodes, rank int) int {
	if nodes < 1 || rank < 0 || rank >= nodes || rank >= binds {
		return 0
	}
	return (binds - rank + nodes - 1) / nodes
}
