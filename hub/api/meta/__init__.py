"""Operations and serializers of the API itself, and rate limits."""
