package login

// Encrypted reports whether the tokens of a login are encrypted with a key in the system's keyring.
func (s *Store) Encrypted(k Key) bool {
	e, err := readEnvelope(s.path(k))
	return err == nil && e.EncryptedWith != ""
}
