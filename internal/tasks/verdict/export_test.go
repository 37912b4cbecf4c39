package verdict

// Allowed returns what the rules allow in a situation.
func Allowed(s Situation) []Action { return decide(&s).allowed }
