package evidence

import "strings"

// HandsetE164 reads the handset's address as an international number, "" if it is none: a national form could
// be anybody's, and a pair that is only guessed helps nobody.
func HandsetE164(source string) string {
	digits, international := strings.CutPrefix(source, "+")
	if !international {
		digits = strings.TrimPrefix(digits, "00")
	}
	const shortest, longest = 7, 15
	if len(digits) < shortest || len(digits) > longest || digits[0] == '0' || strings.Trim(digits, "0123456789") != "" {
		return ""
	}
	return "+" + digits
}
