package repair

// IsComplaint reports whether a server's error text is a complaint about the
// arguments of the call and not about what the tool did.
func IsComplaint(text string) bool { return false }

// Complaint tells the caller what a server's own complaint means: raw are the
// arguments that were sent, said is what the server said.
func (s *Schema) Complaint(tool string, raw []byte, said string, times int) Message { return Message{} }
