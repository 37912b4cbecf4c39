package splice

import (
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// kindByLibrary is the kind of a text as the library decodes it.
func kindByLibrary(text string) Kind {
	var read map[string]any
	if strings.ContainsAny(text, "#\r\n") || strings.TrimSpace(text) != text || toml.Unmarshal([]byte("t = "+text), &read) != nil {
		return NullKind
	}
	switch read["t"].(type) {
	case int64, float64:
		return NumberKind
	case time.Time, toml.LocalDate, toml.LocalTime, toml.LocalDateTime:
		return TimeKind
	}
	return NullKind
}

var tomlValues = []string{
	"0", "+1", "-1_000", "0x_ff", "0xffff_ffff_ffff_ffff", "0x7fffffffffffffff", "0o17", "0b101", "007", "1__0", "_1", "1_", "9223372036854775807", "-9223372036854775808",
	"9223372036854775808", "-9223372036854775809", "1.5", "1e400", "-1e-400", "inf", "+inf", "-inf", "nan", "1.", ".5", "1_0.5_0e1_0", "6.626e-34", "infinity", "NaN", "0x1p4",
	"2026-02-28", "2026-02-29", "2024-02-29", "1900-02-29", "2026-00-01", "0000-01-01", "2026-01-32", "07:32:00", "07:32", "7:32:00", "24:00:00", "23:59:60", "07:32:00.999999999999", "07:32:00,5", "07:32:00.",
	"1979-05-27T07:32:00Z", "1979-05-27t07:32:00z", "1979-05-27 07:32:00-07:00", "1979-05-27T07:32Z", "1979-05-27T00:32:00.999999+23:59", "1979-05-27T00:32:00+24:00", "1979-05-27T00:32:00+07:60",
	"1979-05-27T00:32:00", "1979-05-27 00:32", "1979-05-27T", "1979-05-27 ", "1979-05-27Z", "07:32Z", "07:32:00+01:00", "2026-1-1", "true", "''", "[1]", "{}", "", "1 2", "1 = 2", "x", "1 # one", "1\nu = 2",
}

func TestTomlKindAgreesWithTheLibrary(t *testing.T) {
	t.Parallel()
	for _, text := range tomlValues {
		if got, want := tomlKind(text), kindByLibrary(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func FuzzTomlKind(f *testing.F) {
	for _, text := range tomlValues {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := tomlKind(text), kindByLibrary(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	})
}
