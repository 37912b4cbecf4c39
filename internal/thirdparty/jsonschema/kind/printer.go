package kind

import "fmt"

// Printer formats messages in English. It replaces that of golang.org/x/text/message.
type Printer struct{}

// Sprintf formats as fmt does.
func (*Printer) Sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }
