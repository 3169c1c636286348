"""Operations and serializers of development environments."""
