package gsm

// escape is the code that makes the next one an extension character.
const escape = 0x1B

// basic is the default alphabet (3GPP TS 23.038, 6.2.1), sixteen codes a line. Code 0 is a real character, and
// 0x09 is the capital C with cedilla.
var basic = [128]rune{
	'@', '£', '$', '¥', 'è', 'é', 'ù', 'ì', 'ò', 'Ç', '\n', 'Ø', 'ø', '\r', 'Å', 'å',
	'Δ', '_', 'Φ', 'Γ', 'Λ', 'Ω', 'Π', 'Ψ', 'Σ', 'Θ', 'Ξ', escape, 'Æ', 'æ', 'ß', 'É',
	' ', '!', '"', '#', '¤', '%', '&', '\'', '(', ')', '*', '+', ',', '-', '.', '/',
	'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', ':', ';', '<', '=', '>', '?',
	'¡', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M', 'N', 'O',
	'P', 'Q', 'R', 'S', 'T', 'U', 'V', 'W', 'X', 'Y', 'Z', 'Ä', 'Ö', 'Ñ', 'Ü', '§',
	'¿', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
	'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', 'ä', 'ö', 'ñ', 'ü', 'à',
}

// extension is the table behind escape (6.2.1.1).
var extension = map[byte]rune{
	0x0A: '\f',
	0x14: '^',
	0x28: '{',
	0x29: '}',
	0x2F: '\\',
	0x3C: '[',
	0x3D: '~',
	0x3E: ']',
	0x40: '|',
	0x65: '€',
}

var (
	basicCode     = invertBasic()
	extensionCode = invertExtension()
)

func invertBasic() map[rune]byte {
	m := make(map[rune]byte, len(basic))
	for code, r := range basic {
		if code != escape {
			m[r] = byte(code) // at most 127
		}
	}
	return m
}

func invertExtension() map[rune]byte {
	m := make(map[rune]byte, len(extension))
	for code, r := range extension {
		m[r] = code
	}
	return m
}
