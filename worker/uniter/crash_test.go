package uniter

const agentDirVar = "UNITER_TEST_AGENT_DIR"

func agentMain(dir string) {}
