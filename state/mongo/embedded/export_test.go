package embedded

// Held returns the bytes that the server holds for its clients, and the most that it ever held.
func (s *Server) Held() (now, most int64) { return s.budget.Used(), s.budget.Peak() }
