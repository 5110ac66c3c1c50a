package storage

// Spaces returns the number of spaces that have keys.
func (s *Store) Spaces() (int, error) {
	spaces := map[string]bool{}
	err := s.each(keySpace, func(rest, _ []byte) error {
		spaces[string(rest[:spaceSize-1])] = true
		return nil
	})
	return len(spaces), err
}
