"""Operations and serializers of check runs."""
