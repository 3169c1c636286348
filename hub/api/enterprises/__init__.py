"""Operations and serializers of teams of enterprises."""
