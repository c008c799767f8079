package fault

// Distance is how many octets must be put in, left out or changed to make one word of the other (Levenshtein): what
// tells a slip of the finger from another word. It takes as long as the lengths multiplied, so who asks bounds what a
// caller chose.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
