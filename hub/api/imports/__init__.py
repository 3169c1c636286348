"""Operations and serializers of source imports."""
