package sqlite

import "encoding/binary"

// numbers are the commit numbers of a store's nodes. A node has one writer here, whose number is 0.
type numbers map[[16]byte]int64

// numbersIn reads a page of the table commit_number: node, writer, n. It returns nil if the page cannot be one.
//
// The table is one leaf of an index b-tree (it is "without rowid"), as sqlite.org/fileformat2.html describes it, as
// long as it has fewer than a hundred rows.
func numbersIn(page []byte) numbers {
	const (
		leafOfIndex = 0x0a
		countAt     = 3
		cellsAt     = 8
	)
	if len(page) < cellsAt || page[0] != leafOfIndex {
		return nil
	}
	count := int(binary.BigEndian.Uint16(page[countAt:]))
	all := numbers{}
	for i := range count {
		at := cellsAt + 2*i
		if at+2 > len(page) {
			return nil
		}
		cell := int(binary.BigEndian.Uint16(page[at:]))
		if cell > len(page) || !all.addRow(page[cell:]) {
			return nil
		}
	}
	return all
}

// addRow reads a cell: how long the record is, how long its header is, the three columns' types, their values. All
// of the lengths and types are below 128, and so one byte each.
func (all numbers) addRow(cell []byte) bool {
	const (
		before      = 5  // length, header's length and three types
		blobOf16    = 44 // 12 + 2 * 16
		writer0     = 8  // the integer 0, which takes no room
		integer1    = 9  // the integer 1, as well
		largestType = 6
		nodeLength  = 16
	)
	if len(cell) < before+nodeLength || cell[1] != before-1 || cell[2] != blobOf16 || cell[3] != writer0 {
		return false
	}
	length, value := int(cell[0]), int(cell[4])
	var size int
	switch {
	case value == integer1:
	case value >= 1 && value <= largestType:
		size = [...]int{0, 1, 2, 3, 4, 6, 8}[value]
	default:
		return false
	}
	if length != before-1+nodeLength+size || len(cell) < 1+length {
		return false
	}
	n := int64(1)
	if value != integer1 {
		n = 0
		for _, b := range cell[before+nodeLength : 1+length] {
			n = n<<8 | int64(b)
		}
	}
	all[[16]byte(cell[before:])] = n
	return true
}
