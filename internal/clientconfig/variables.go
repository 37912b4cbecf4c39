package clientconfig

// Variables returns the names of the variables that an entry sets or passes on.
func (e Entry) Variables() (names []string) {
	if m, ok := member(e.node, e.fields.Env); ok {
		for name := range m.Members() {
			names = append(names, name)
		}
	}
	if m, ok := member(e.node, e.fields.EnvNames); ok {
		names = append(names, words(m)...)
	}
	return names
}

// Variable returns the value of a variable as written, which may be a reference.
func (e Entry) Variable(name string) (string, bool) {
	m, ok := member(e.node, e.fields.Env)
	if !ok {
		return "", false
	}
	value, ok := member(m, name)
	if !ok {
		return "", false
	}
	return text(value)
}
