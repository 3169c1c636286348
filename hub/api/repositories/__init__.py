"""Operations and serializers of comments, invitations, licenses, limits, rule suites, watching."""
