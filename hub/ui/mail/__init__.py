"""The pages about alerts by mail: the mails, a test message, and who gets mail about a hook."""
