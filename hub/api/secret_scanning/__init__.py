"""Operations and serializers of patterns of secrets."""
